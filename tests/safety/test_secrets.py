"""Secrets: every format in every surrounding, hard situations, nothing in what only looks like one,
linear time, exact spans.
"""

from __future__ import annotations

import base64
import re
import zlib
from functools import cache
from itertools import pairwise
from random import Random
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.secret_situations import SITUATIONS, fill_situation
from benchmarks.secrets import Chance, Sample, fill, innocent, secrets
from memorist.safety import secrets as secrets_module
from memorist.safety.redacted_json import redact_json
from memorist.safety.safety_finding import SafetyFinding
from memorist.safety.secret_keys import classify_secret_key_name
from memorist.safety.secret_providers import load_named_providers
from memorist.safety.secret_token_formats import (
    HOLE_CLASSES,
    has_valid_token_checksum,
    list_token_shapes_with_rules,
    load_secret_token_formats,
)
from memorist.safety.secrets import (
    CLEAN,
    CLEAN_TEXT_CACHE_SIZE,
    RedactedText,
    find_secrets,
    make_redaction_mark,
    redact,
    redact_id_keeping_ids_distinct,
)
from support.sweeps import sampled

HOLE = re.compile(r"\{([A-Z])(\d+)?(?:-(\d+)|\+)?\}")
SURROUNDINGS = (
    "{}", "SETTING={}", '{{"setting": "{}", "other": 1}}', "export X='{}' && make", "Use {} for staging, it is good until Friday.", 'client = Client("{}", timeout=30)', "  value: {}  # rotate", '"text": "a\\n{}\\nb"',
    "请使用{}。", "\x1b[32m{}\x1b[0m", "| {} |", "<{}>", "a%3D{}", "\\u003d{}",
)  # fmt: skip
pytestmark = pytest.mark.covers("SF-1")

CORPUS = list(secrets(rounds=1))
PIECES = st.sampled_from(
    [*(sample.text for sample in CORPUS[:: len(CORPUS) // 80]), "[redacted: a]", "[redacted: github-token]", "[redacted: ", "=", ": ", '"', "'", "\\n", "\n", " ", "://", "@", "eyJ", "Bearer ", "-----BEGIN PRIVATE KEY-----",
     "password", "token", "ghp_", "aK9xmP2qLr7vBn4w", "curl -u ", "\x1b[31m", "\\u001b[0m", "|", "é", "İ", "密码", "пароль", "\ud800", "😀"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)


@cache
def characters(letter: str) -> str:
    return "".join(
        sign for sign in map(chr, range(33, 127)) if re.match(f"[{HOLE_CLASSES[letter]}]", sign)
    )


def draw(shape: str, random: Random) -> str:
    """A token of a shape, its holes filled by chance."""

    def hole(found: re.Match[str]) -> str:
        if found[1] == "G":
            return "-".join(
                "".join(random.choice("0123456789abcdef") for _ in range(size))
                for size in (8, 4, 4, 4, 12)
            )
        size = random.randint(int(found[2]), int(found[3] or found[2]))
        drawn = "".join(random.choice(characters(found[1])) for _ in range(size))
        return drawn[:-1] + random.choice(
            re.sub(r"[^A-Za-z0-9]", "", characters(found[1]))
        )  # a sign at the end may belong to the text around

    return HOLE.sub(hole, shape.lstrip("?~").removesuffix("!")).replace("␣", " ")


SHAPES = [
    (name, shape)
    for name, shape in list_token_shapes_with_rules()
    if name not in {"private-key", "jwt"}
]


@pytest.mark.parametrize("part", range(12))
def test_each_shape_is_found_in_every_surrounding(part: int) -> None:
    """Tokens drawn from each shape of the table are gone, each surrounding tried on a third of the
    shapes; one in thirty may look like a word or a placeholder by chance.
    """
    random = Random(part)
    missed = tried = 0
    for number in range(part, len(SHAPES), 12):
        for turn in range(4):
            token = draw(SHAPES[number][1], random)
            secret = token.partition("(")[2] or token
            surrounding = SURROUNDINGS[(number + turn * 4) % len(SURROUNDINGS)]
            missed += secret in redact(surrounding.format(token.replace("(", ""))).text
            tried += 1

    assert missed * 30 <= tried


def test_no_shape_ends_in_a_bracket_that_no_token_has() -> None:
    """A bracket says only where the secret begins; drawn tokens would hold a second one as well."""
    assert [shape for _, shape in SHAPES if ")" in shape] == []


def test_the_signature_of_an_address_is_a_secret() -> None:
    """Who has a signed address may read the object until it expires."""
    signature = f"{Random(7).getrandbits(256):064x}"
    address = f"https://shop.s3.amazonaws.com/list?X-Amz-Expires=900&X-Amz-Signature={signature}"

    assert signature not in redact(f"{address}&x=1").text


@pytest.mark.parametrize("part", range(10))
def test_each_hard_situation_is_read(part: int) -> None:
    """Colour codes, tables, languages, commands, addresses, key blocks, split lines: of four drawn
    secrets at least three are gone.
    """
    for situation in SITUATIONS[part::10]:
        random = Random(situation)
        drawn = [fill_situation(situation, random) for _ in range(4)]

        assert sum(secret in redact(text).text for text, secret in drawn) <= 1, situation


@pytest.mark.parametrize(
    "situation",
    [
        "bindpw {P}", "wpa_passphrase home {P}", 'dsn="bob:{P}@tcp(db:3306)/shop"', "A temporary password is generated for root@localhost: {P}", 'name="password"\n\n{P}', "auth=('bob', '{P}')", "jwt.encode(payload, '{K}', algorithm='HS256')",
        "smtp.login('bob@acme.dev', '{P}')", 'ConvertTo-SecureString "{P}" -AsPlainText', "xfreerdp /u:bob /p:{P} /v:h", "openssl enc -aes-256-cbc -k {P} -in a", "user bob, password {P}", "creds are bob / {P}", "usuario: bob clave: {P}", "пароль такой: {P}",
        "логин bob пароль {P}", "パスワードを{P}に変更", "parola este {P}",
    ],
)  # fmt: skip
def test_a_secret_is_read_where_it_was_once_missed(situation: str) -> None:
    """Second arguments, drivers' addresses, forms, commands, and what people say: of eight drawn
    secrets at least six are gone.
    """
    random = Random(situation)
    drawn = [fill_situation(situation, random) for _ in range(8)]

    assert sum(secret in redact(text).text for text, secret in drawn) <= 2


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("deploy --token s3cr3tX9 --host api", "s3cr3tX9"),
        ("tool --api-key ab9k12345", "ab9k12345"),
        ("set --client-secret=Q7w8E9", "Q7w8E9"),
        ("--max-tokens 4096 --secret db-credentials-v2 --auth oauth2", ""),
        ("--token-file ./a.b1 --token $TOK3N --tokenizer qwen2.5", ""),
    ],
)
def test_a_short_value_behind_an_option_for_secrets_is_one(text: str, secret: str) -> None:
    """However short: names of secrets, files, variables and other options stay."""
    assert redact(text).text == (
        text.replace(secret, "[redacted: assigned-secret]") if secret else text
    )


@pytest.mark.parametrize("part", range(8))
def test_each_rule_takes_its_secrets_out_in_every_context(part: int) -> None:
    """In .env files, JSON, shells, prose, code, YAML, escaped text and Chinese."""
    for sample in CORPUS[part::8]:
        assert sample.secret not in redact(sample.text).text, sample.rule


@pytest.mark.parametrize(
    "sample", list(innocent()), ids=lambda sample: f"{sample.rule}-{sample.text[:20]!r}"
)
def test_what_only_looks_like_a_secret_is_left_alone(sample: Sample) -> None:
    """Digests, identifiers, pictures, public keys, placeholders, code, paths and prose come back as
    the same object.
    """
    clean = redact(sample.text)

    assert clean.text is sample.text


@pytest.mark.parametrize(
    "text",
    [
        "    credentials: Credentials | Iterable[Credentials] | None = None", "login: Map<String, Credentials> | null",
        "should_pass(\"WinDLL('./_sqlite3.dll')\")", "    --- PASS: TestSanitize/strips_C1_control_U+009F (0.00s)", 'token = r"[-!#$%&\'*+.^_`|~0-9a-zA-Z]+"', 'token = f"lc-image-{uuid.uuid4().hex}"', "private_key: PKCS7PrivateKeyTypes,",
        "    Ed25519PrivateKey,\n    Ed448PrivateKey,\n    X25519PrivateKey,\n", "threads are identified by threading.current_thread", "restored from key: mise-v0-linux-x64-f804a68745ce7318dacd9fc03814b81b5096313365af949b",
        "max_tokens=200000 token_count: 128000", "cache_key = 'A1b2C3d4E5f6G7h8I9j0K1l2'", "next_page_token: Ab3dE6gH9jK2mN5pQ8sT1vW4", "passwd:*all*authentication*tokens*updated*successfully*", "password = input('Password: ')",
        '"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3"', '"AWS::Redshift::EndpointAuthorization": "e72be424d109da1d"', "the value of a SecureString parameter**2**",
        "PASSWORD=$(pass show db)", "password: ${{ secrets.DB_PASSWORD }}", "API_KEY={{ vault.api_key }}", "-p 8080:80 docker run", "mysql -u root -p shop", "sshpass -p $PASS ssh", "docker run -p 127.0.0.1:8080:80 x",
        "curl -u $USER:$PASS https://x", "https://user:pass@example.com", 'key: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i6UPp"', "EAAAAAAAAAAAAAAAAAAAAAGIBCoDBAUwDgYDVR0PAQH",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Lines of code, logs and documents that were once taken for secrets, and their like."""
    assert find_secrets(text) == ()


@given(TEXTS)
def test_nothing_is_found_in_what_was_redacted(text: str) -> None:
    """Redaction is idempotent, whatever marks, colour codes and pieces of secrets stand beside each
    other.
    """
    clean = redact(text)

    assert find_secrets(clean.text) == ()
    assert redact(clean.text) == RedactedText(clean.text)


@given(TEXTS)
def test_findings_lie_in_the_text_in_order_and_apart(text: str) -> None:
    """They can be cut out one after another; without one the text is the same object."""
    found = find_secrets(text)

    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert found or redact(text).text is text


UNITS = (
    "eyJ-", "eyJ-" * 30 + ".eyJ", "token=", "AccountKey=", "-----BEGIN PRIVATE KEY-----", "://a:", "密码是", "CFPAT-", "curl -u ", "A", "sk-", "ghp_a\n", 'ghp_abcd"+"', "password: ", "password,", "pass|", "key token ", "\x1b[1m",
    "cookie: a=", "mysql -p", "echo x|", "private-lines: 1\naaaa\n", "phrase: word ", '"kty"', "password for a ", "a,token\n", "|secret|\n|--|\n", "SG.aaaaaaaaaaaaaaaaaaaa.", "|", "incoming+1-", "LS0tLS1CRUdJTi", "key=\\\n    ",
    "login: a/", "auth=('a', ", "a:@tcp(", "jwt.encode(a, '", "user a password ", "name: password, value: ", "identified by '", "authorization: ", "x", "pw=",
)  # fmt: skip


@pytest.mark.parametrize("unit", sampled(UNITS, UNITS[::4]))
def test_hostile_lines_are_read_in_linear_time(unit: str) -> None:
    """A hundred thousand characters of what a rule looks for: a pattern that went back over them
    would take minutes, and the test's time limit would end it.
    """
    text = unit * (100_000 // len(unit))

    found = find_secrets(text)

    assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('password = "aK9xmP2q!r7v"  # x', 'password = "[redacted: password]"  # x'), ("DB_PASS=aK9xmP2qr7v\nX=1", "DB_PASS=[redacted: password]\nX=1"), ("https://bob:aK9xmP2qr7v@h/x", "https://bob:[redacted: url-password]@h/x"),
        ("\x1b[32mDB_PASS=\x1b[1maK9xmP2qr7v\x1b[0m .", "\x1b[32mDB_PASS=\x1b[1m[redacted: password]\x1b[0m ."), ("密码：aK9xmP2qr7v。好", "密码：[redacted: password]。好"), ("İ пароль: aK9xmP2qr7v", "İ пароль: [redacted: password]"),
        ("| user | password |\n|--|--|\n| bob | aK9xmP2qr7v |", "| user | password |\n|--|--|\n| bob | [redacted: password] |"), ('"name": "API_KEY", "value": "aK9xmP2qr7vBn4wZs8tYc3d"', '"name": "API_KEY", "value": "[redacted: assigned-secret]"'),
    ],
)  # fmt: skip
def test_the_span_is_exact(text: str, clean: str) -> None:
    """Nothing beside the secret is taken: quotes, signs, colour codes and the next word stay."""
    assert redact(text).text == clean


def test_a_long_secret_goes_to_its_end() -> None:
    """What is judged by its first characters is not cut there."""
    random = Random(5)
    secret = "".join(random.choice(ascii_letters + digits) for _ in range(2000))

    assert secret[-20:] not in redact(f"api_key = '{secret}'").text
    assert secret[-20:] not in redact(f"api_key={secret}").text


def test_a_secret_does_not_hide_behind_a_mark() -> None:
    """A make_redaction_mark is never marked again, and what stands around it in a value still goes."""
    clean = redact(f'password="{make_redaction_mark("password")}aK9xmP2qr7v"')

    assert "aK9xmP2qr7v" not in clean.text
    assert clean.text.startswith(f'password="{make_redaction_mark("password")}')


def test_a_right_checksum_is_known() -> None:
    """GitHub's and npm's checksum: a token with the right one counts whatever it looks like."""
    body = "exampleexampleexampleexample12"
    right = next(f"ghp_{body}{tail}" for tail in _tails(body))

    assert has_valid_token_checksum(right)
    assert not has_valid_token_checksum(right[:-1] + ("a" if right[-1] != "a" else "b"))
    assert [one.rule for one in find_secrets(right)] == ["github-token"]


def _tails(body: str) -> list[str]:
    number, shown, alphabet = (
        zlib.crc32(body.encode()),
        "",
        digits + ascii_letters[26:] + ascii_letters[:26],
    )
    for _ in range(6):
        number, rest = divmod(number, 62)
        shown = alphabet[rest] + shown
    return [shown]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DB_PASSWORD_2", "password"),
        ("dbPass", "password"),
        ("should_pass", ""),
        ("accessToken", "secret"),
        ("max_tokens", ""),
        ("public_key", ""),
        ("X-Api-Key", "secret"),
        ("token_count", ""),
        ("secret_name", ""),
        ("mot de passe", "password"),
    ],
)
def test_names_say_what_they_hold(name: str, kind: str) -> None:
    """By the last word that is no suffix, and what stands before it."""
    assert classify_secret_key_name(name) == kind


def test_the_tables_can_be_used() -> None:
    """Every pattern compiles, every hint is a text of two characters or a rare sign, every finding
    is apart.
    """
    assert all(kind.pattern.match("") is None for kind in load_secret_token_formats())
    assert all(len(kind.hint) > 1 or kind.hint in "|%!" for kind in load_secret_token_formats())
    assert all(provider.value.fullmatch("") is None for provider in load_named_providers().values())
    assert find_secrets("") == ()
    assert SafetyFinding(1, 2, "x").end == 2


def test_secrets_in_a_chain_are_all_taken_out() -> None:
    """A secret that becomes one only when its neighbour is gone is found as well, without reading
    the text once for each.
    """
    chance = Chance(7)
    chain = "".join(fill("dop_v1_{H64}", chance)[0] for _ in range(200))

    clean = redact(chain)

    assert find_secrets(clean.text) == ()
    assert "dop_v1_" not in clean.text


@pytest.mark.parametrize("count", [0, 19_990, (1 << 20) - 3])
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(count: int) -> None:
    """A long text is read to its end."""
    token = fill("ghp_{A36}", Chance(6))[0]
    text = "a " * (count // 2) + "b" * (count % 2) + " " + token + " c" * 20_000

    assert [finding.rule for finding in find_secrets(text)] == ["github-token"]


def test_only_clean_short_texts_are_remembered() -> None:
    """Asked again, a short text gives what it gave at first, however many came in between; one with
    a secret is not kept in memory.
    """
    secret = "password=Zq8vKx2mWp4Lt"
    first = find_secrets(secret)

    for number in range(CLEAN_TEXT_CACHE_SIZE + 10):
        assert find_secrets(f"argument_{number}") == ()

    assert first
    assert find_secrets(secret) == first
    assert secret not in CLEAN
    assert len(CLEAN) <= CLEAN_TEXT_CACHE_SIZE
    assert find_secrets("argument_1") == ()


def test_a_clean_message_is_read_once_however_often_it_is_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One with a secret is read each time: nothing with one is kept in memory."""
    read: list[str] = []

    def find(text: str) -> tuple[SafetyFinding, ...]:
        read.append(text)
        return find_in(text)

    find_in = secrets_module._find
    monkeypatch.setattr(secrets_module, "_find", find)
    clean = "Please look at the report of last night. " * 20
    secret = f"{clean} password=Zq8vKx2mWp4Lt"
    for text in (clean, secret, clean, secret):
        redact(text)

    assert read.count(clean) == 1
    assert read.count(secret) == 2


@pytest.mark.parametrize("key", ["data", "body"])
def test_a_text_under_the_name_of_a_pictures_bytes_is_read(key: str) -> None:
    """What tools return calls its text `data`; a picture under that name stays to the letter."""
    secret = "_".join(("ghp", "kR7vQ2mXw9" + "LpZ4tYb8Nc" + "J5hGd3FsA6" + "eUq1Wo"))
    picture = {"type": "base64", "data": "iVBORw0KGgo" * 9000 + "=="}

    assert secret not in str(redact_json({"result": {key: f"token {secret}"}}))
    assert secret not in str(redact_json({"result": {key: secret}}))
    assert redact_json(picture) is picture


def test_a_value_known_as_clean_is_still_judged_by_its_name() -> None:
    """A word that was looked at as a plain text, and is remembered, is masked as a password."""
    word = "Blue7horse-Lamp"
    assert redact(word).text == word
    plain = {"type": "text", "text": word}
    assert redact_json(plain) is plain
    for call in ({"input": {"password": word}}, {"arguments": f"password={word}"}):
        assert word not in str(redact_json(call))


@pytest.mark.covers("SF-1")
@pytest.mark.parametrize(
    "line",
    [
        "echo {} | base64 -d > .env",
        "printf '{}' | base64 --decode",
        "base64 -d <<< {}",
        "base64.b64decode(b'{}')",
        'atob("{}")',
        '[Convert]::FromBase64String("{}")',
        '.dockerconfigjson: "{}"',
    ],
)
def test_a_secret_in_base64_that_is_decoded_on_the_spot(line: str) -> None:
    """The text is redacted where what it decodes to holds a secret, and stays where not."""
    secret = base64.b64encode(b"SMTP_PASSWORD=" + b"Tz91kjWQp7").decode()
    plain = base64.b64encode(b"nothing to hide in this line").decode()

    assert secrets_module.redact(line.format(secret)).rules == ("encoded-secret",)
    assert secret not in secrets_module.redact(line.format(secret)).text
    assert secrets_module.redact(line.format(plain)).text == line.format(plain)


@pytest.mark.covers("SF-1")
@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("the password for the test server is Tz91kjWQp7", "Tz91kjWQp7"),
        ("Das Passwort für den Drucker lautet Herbst2026!k", "Herbst2026!k"),
        ("password of our old database: Tz91kjWQp7", "Tz91kjWQp7"),
        ("contraseña: Otono2026*q", "Otono2026*q"),
        ("password: Autumn2026@", "Autumn2026@"),
        ("curl -H 'X-Api-Key: 5kW2mZq81LxTa' https://shop.example", "5kW2mZq81LxTa"),
    ],
)
def test_passwords_as_people_write_and_choose_them(line: str, secret: str) -> None:
    """For whom it is, in several words; a word, a year and a sign; a short key in a header."""
    assert secret not in secrets_module.redact(line).text


def test_a_token_goes_with_the_lines_on_which_it_goes_on() -> None:
    """A format without a fixed length takes the random pieces below it, not the next word or digest."""
    pieces = (
        "sk-ant-api03-Qm4Zt8Lr2Vx7Bn1Wc5Kd9Hs3Jf6Gp0Ya",
        "Tb7Ne2Xk9Uw4Ri1Oz6Pv3Mq8",
        "Lc5Sj0Dg7Hy2Fa4",
    )
    clean = redact("copy it:\n    " + "\n    ".join(pieces) + "\nDone.\n").text

    assert clean == "copy it:\n    [redacted: anthropic-key]\nDone.\n"
    assert redact(f"{pieces[0]}\nfinished\n").text.endswith("]\nfinished\n")


def test_a_long_identifier_is_cut_and_stays_apart() -> None:
    """A header of a memory names the session, whatever a client calls it."""
    one, two = (redact_id_keeping_ids_distinct("a" * 2_000_000 + end) for end in "xy")

    assert one != two
    assert len(one) < 2_000
    assert redact_id_keeping_ids_distinct("a" * 900) == "a" * 900


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Driver={SQL};UID=sa;PWD={no;4Kx9Tq2};Encrypt=yes", "no;4Kx9Tq2"),
        ("सर्वर का पासवर्ड Nadi4Kx9Tq2 है", "Nadi4Kx9Tq2"),
        ("şifresi Bulut4Kx9Tq2 olarak değişti", "Bulut4Kx9Tq2"),
        ("كلمة مرور قاعدة البيانات هي sahab4Kx9Tq2 الآن", "sahab4Kx9Tq2"),
        ("heslo k databázi je zima4Kx9Tq2", "zima4Kx9Tq2"),
        ("das Passwort vom Staging ist jetzt sommer4Kx9Tq2", "sommer4Kx9Tq2"),
        ("lösenordet till databasen är vinter4Kx9Tq2", "vinter4Kx9Tq2"),
    ],
)
def test_a_password_is_found_wherever_a_language_puts_its_verb(text: str, secret: str) -> None:
    """Behind the value, before it, with any preposition between; in braces in a connection string."""
    assert secret not in redact(text).text
    assert redact(text).rules == ("password",)


@pytest.mark.parametrize(
    "text", ["connect(f'UID={uid};PWD={db_password};')", "the password policy of the app is strict"]
)
def test_a_placeholder_in_braces_and_talk_of_passwords_are_none(text: str) -> None:
    """A name in braces is filled in later."""
    assert find_secrets(text) == ()
