"""Secrets of a person: account and card numbers, PINs and codes, keys of wireless networks, recovery
phrases.
"""

from __future__ import annotations

import pytest

from memorist.safety.secrets import find_secrets, redact

pytestmark = pytest.mark.covers("SF-1")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("pay it from NL91ABNA0417164300 next time", "0417164300"),
        ("BE68 5390 0754 7034 is our account", "5390 0754"),
        ("the customer's card 4539-5787-6362-1486 was refused", "5787-6362"),
        ("mastercard 5425233430109903 does not work", "5425233430109903"),
        ("the PIN of my card is 90210", "90210"),
        ("PIN 8364 for the terminal", "8364"),
        ("verification code: 739104", "739104"),
        ("the gate code is 7391#", "7391#"),
        ("暗証番号は7391です", "7391"),
        ("验证码是739104", "739104"),
        ("код доступа: 739104", "739104"),
        ("my recovery codes\n1. f81a-92cd\n2. 07be-11aa\n3. 9c9d-0e4f\n", "07be-11aa"),
        ("codes de récupération : a81f0-92cd7, b07e1-11aa3", "11aa3"),
        ("join with WIFI:T:WPA;S:Attic;P:blue\\;lamp-4;; please", "lamp-4"),
        ("WLAN-Schlüssel: 70213984550128734466", "70213984550128734466"),
        ("WiFi key for the lab is lamp4lamp4x", "lamp4lamp4x"),
        (
            "mnemonic: 'ripple scissors kick mammal hire column oak again sun offer wealth tomorrow'",
            "mammal hire",
        ),
        (
            "frase de recuperación: ripple scissors kick mammal hire column again sun offer wealth "
            "wagon turn",
            "mammal hire",
        ),
        ("1. ripple\n2. scissors\n3. kick\n4. mammal\n5. hire\n6. column\n7. oak\n8. again\n9. sun\n"
         "10. offer\n11. wealth\n12. turn\nthose are the seed words", "mammal"),
        ("the database password is tulip-88 and the host is db1", "tulip-88"),
        ("login: ann / pw: Falcon.27", "Falcon.27"),
        ("sign in as ann@example.com with password Falcon.27 to see it", "Falcon.27"),
        ("//npm.example.com/:_authToken=5c2a1f5e-77b2-4c1d-8e02-2b9f6a1c3d44", "5c2a1f5e"),
        ("untrusted comment: minisign encrypted secret key\nRWRTY0Iy" + "q7Xv9Kb2Lm4Np6Rt" * 9,
         "q7Xv9Kb2Lm4Np6Rt"),
        ("PIN der Karte: 7391", "7391"),
        ("the OTP seed is JBSWY3DPEHPK3PXPJUWOXFLL", "PEHPK3PX"),
        ("2FA setup key: JBSW Y3DP EHPK 3PXP", "EHPK 3PXP"),
        ("Setup key: jbsw y3dp ehpk rpxp juwo xflo kq5w eydp", "juwo xflo"),
        ("https://shop.acme.dev/reset?uid=77&reset_token=k3Vx8Tq1Lm6Zn9Wb", "k3Vx8Tq1"),
        ("wifi pw is lamp4lamp4x (guests)", "lamp4lamp4x"),
        ("Authorization: Apisecret 9fK2mQ7xL4vB8nR3tY6wZ1cH5jD0pG7s", "9fK2mQ7x"),
        ("Failed: ['tool', '-u', 'ann', '-p', 'Falcon.27']", "Falcon.27"),
        ("WPA2 key lamp4lamp4x", "lamp4lamp4x"),
        ("le code secret c'est lampe4lampe", "lampe4lampe"),
        ("пароль от вайфая Fal_con27x", "Fal_con27x"),
        ("New user created: ann / sP7kV_xw#u6y", "sP7kV_xw#u6y"),
        ('a1 LOGIN "ann" "Falcon.27"', "Falcon.27"),
        ("> AUTH PLAIN AGFubgBGYWxjb24uMjd4", "AGFubgBG"),
        ("USER ann\nPASS Falcon.27\n230 Login successful", "Falcon.27"),
        ("mc alias set s3 https://minio.example.com ANN 5c2a1f5e77b24c1d8e02", "5c2a1f5e"),
        ("rclone config create s3 provider AWS secret_access_key 9fK2mQ7xL4vB8nR3tY6wZ1cH5jD0pG7sA2eU4iO6",
         "9fK2mQ7x"),
        ("restic init --password-command 'echo Falcon.27'", "Falcon.27"),
        ("aws ssm put-parameter --name /db --type SecureString --value Falcon.27", "Falcon.27"),
        ("| user | password | role |\n|---|---|---|\n| ann | Falcon_27x | ro |", "Falcon_27x"),
        ("Service    User    Password\njira       ann     Falcon_27x\nwiki       ben     Oriole_31y",
         "Oriole_31y"),
        ("usuario;contraseña;rol\nana;Falcon_27x;admin", "Falcon_27x"),
        ("semilla (12 palabras): lobo puente cereza humo tango río nieve caja violín llave mono barco",
         "puente"),
        ("palabras de recuperación: 1. lobo 2. puente 3. cereza 4. humo 5. tango 6. río 7. nieve "
         "8. caja 9. violín 10. llave 11. mono 12. barco", "cereza"),
        ("фраза восстановления: лодка ветер город дверь книга месяц небо озеро песок река снег трава",
         "город"),
        ("我的助记词是：歇 据 硫 鬼 秘 旁 霉 敦 廉 勃 灾 讨", "硫"),
        ("リカバリーフレーズ: あいさつ あいだ あおぞら あかちゃん あきる あけがた あける あさい あさひ あしあと あじわう あずかる",
         "あおぞら"),
        ("복구 문구: 가격 가끔 가난 가능 가득 가르침 가뭄 가방 가상 가슴 가운데 가을", "가난"),
    ],
)  # fmt: skip
def test_a_secret_of_a_person_is_taken_out(text: str, secret: str) -> None:
    """None of it is left in the text."""
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "joint",
    [" ", ", ", ",", "\n", '", "', "-"],
    ids=["gaps", "list", "csv", "lines", "json", "dashes"],
)
@pytest.mark.parametrize("before", ["", "Hi!\n\n", "{\n\n"])
def test_a_phrase_alone_on_its_line_needs_no_word_beside_it(joint: str, before: str) -> None:
    """A wallet's export and a note hold nothing else."""
    words = joint.join(
        [
            "ripple",
            "scissors",
            "kick",
            "mammal",
            "hire",
            "column",
            "oak",
            "again",
            "sun",
            "offer",
            "wealth",
            "turn",
        ]
    )
    text = f'{before}["{words}"]\n\nBye.' if '"' in joint else f"{before}{words}\n\nBye."

    assert "mammal" not in redact(text).text
    assert redact(text).text.startswith(before)


@pytest.mark.parametrize(
    "text",
    [
        "apple pear plum cherry grape lemon melon mango kiwi olive peach guava\n"
        "carrot onion potato tomato pepper garlic celery radish turnip lettuce spinach leek\n",
        "we went home after dinner because rain fell over every street that night",
        "pending running stopped started created deleted updated merged closed opened failed passed",
        "select insert update delete create alter drop grant revoke commit rollback selected",
        "created on: 2001July05",
        "user created on 2026-01-02 / 10:30",
        "PASS src/cart.test.ts",
        "PASS 14tests",
        "EC_KEY* exportedKeyDataOfEllipticCurve(void)",
        'authorization: "Basic dW5zdXBwb3J0ZWQ="',
        "\n".join(f"{a}{b}word" for a in "abcdefghij" for b in "xyz"),
        "run(['docker', 'run', '-p', 'shop-8080'])",
        "Authorization: required for every request of the shop",
        "the OTP seed is kept in the vault",
        "THE SETUP KEY MUST HAVE BEEN USED",
        "the login page shows 404x",
    ],
)
def test_words_in_a_row_are_no_phrase_and_a_report_no_login(text: str) -> None:
    """Lists of several lines, prose, states and words with the same beginning stay; so do reports."""
    assert redact(text).text == text


def test_a_phrase_goes_to_its_end_and_no_further() -> None:
    """The sentence around it stays."""
    words = "ripple scissors kick mammal hire column oak again sun offer wealth turn"

    assert redact(f"seed phrase: '{words}' for the tests").text == (
        "seed phrase: '[redacted: seed-phrase]' for the tests"
    )


@pytest.mark.parametrize("pad", [*range(0, 240, 20)])
def test_no_word_stays_of_a_phrase_at_the_edge_of_what_is_near(pad: int) -> None:
    """However far its name is, a phrase is hidden from its first word to its last."""
    words = "ripple scissors kick mammal hire column oak again sun offer wealth turn"
    far = "12. " * (pad // 4)

    for text in (
        f"seed phrase: {far}\n{words} {words}\nD",
        f"D\n{words} {words}\n{far}seed phrase",
    ):
        assert not {"ripple", "turn"} & set(redact(text).text.split())


@pytest.mark.parametrize(
    "behind", ["\n", "\nNext line", " (twelve words)", ", Ann has it", ",\n\n", " – "]
)
def test_a_phrase_goes_whatever_is_behind_it(behind: str) -> None:
    """Twelve words are one also in front of a line break, a blank or a comma."""
    words = "ripple scissors kick mammal hire column oak again sun offer wealth turn"

    assert redact(f"seed phrase: {words}{behind}").text == (
        f"seed phrase: [redacted: seed-phrase]{behind}"
    )


@pytest.mark.parametrize(
    "table",
    [
        "PASSWORD       USER\n{}   ann\n",
        "  PASSWORD       USER\n  {}   ann\n",
        "USER   PASSWORD       HOST\nann    {}   db1\n",
    ],
)
def test_a_column_of_passwords_is_read_wherever_it_is(table: str) -> None:
    """The first column of a table with aligned columns is one as well, also behind blanks."""
    assert "Falcon.27xyz" not in redact(table.format("Falcon.27xyz")).text


@pytest.mark.parametrize("name", ["Сид-фраза", "Seed-фраза", "Фраза восстановления", "МНЕМОНИКА"])
def test_the_name_of_a_phrase_may_begin_with_a_capital(name: str) -> None:
    """A name outside ASCII is read in the letters that a line begins with."""
    words = "абзац автор апрель вагон ведро весна вода город дело день дерево жизнь"

    assert redact(f"{name}: {words}\n").text == f"{name}: [redacted: seed-phrase]\n"


@pytest.mark.parametrize(
    "text",
    [
        "니모닉 문구는 절대로 코드에 저장하지 말고 항상 환경 변수 또는 비밀 관리 서비스에 보관해 주세요 그리고 로그에도 남기지 마세요",
        "복구 문구 화면은 사용자가 처음 지갑을 만들 때만 보여 주고 그 다음에는 절대로 다시 보여 주지 않도록 해 주세요",
        "NL91ABNA0417164301 has a wrong check digit.",
        "The test card 4242 4242 4242 4242 always works.",
        "Run 4539578763621486 took 3 seconds.",
        "GPIO pin 4 is on port 4711, PIN 12 is ground.",
        "The PIN is 1234 by default.",
        "verification code is sent by mail within 10 minutes",
        "The recovery codes are printed once and stored hashed.",
        "backup codes: see docs/codes-2024.md",
        "WIFI:T:nopass;S:Guest;; is an open network",
        "The wifi key is on the fridge.",
        "wifi key: WPA2-PSK",
        "PIN 2024 board revision",
        "verification code: test-1234",
        "The seed phrase has twelve words that the user must write down and keep in a safe place.",
        "the phrase list: open save close",
        "The password is base64 for now.",
        "The password is sha256 and salted.",
    ],
)
def test_what_only_resembles_one_stays(text: str) -> None:
    """A number without its check digits, a number published for tests, talk about codes."""
    assert redact(text).text == text


@pytest.mark.parametrize(
    "unit",
    [
        "4539578763621486", "NL91ABNA04171643", "phrase ", "seed: some words of a row and then ",
        "phrase " + "word " * 10 + "x ", "\n" + "word " * 11 + "word\n", "user created: a / ", "login a ", "\npass ", "auth plain ", "backup codes: a1b2-c3d4 ", "pin 4711 pin of the ", "wlan ",
        "WIFI:S:", "code access code ", "backup codes\n", "0000 0000 0000 ",
    ],
)  # fmt: skip
def test_a_long_hostile_line_is_read_in_linear_time(unit: str) -> None:
    """200,000 characters of what the patterns begin with, a bounded stretch read at each."""
    find_secrets(unit * (200_000 // len(unit)))
