"""Passwords that a person chose, known by their place alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.safety.redacted_json import redact_json
from memorist.safety.secrets import find_secrets, redact
from rollouts.conftest import codex

pytestmark = pytest.mark.covers("SF-1")

LINES = [
    "mysql -p {}", "mysql -u root -p{} shop", "mysqladmin -u root -p{} status", "mysql --host=db --password={}", "sshpass -p {} ssh bob@10.0.0.5", "sshpass -p'{}' scp a b:/c",
    "redis-cli -a {} ping", "requirepass {}", "docker login -u bob -p {} quay.io", "docker login --username bob --password {}", "echo {} | docker login -u bob --password-stdin",
    "curl -u bob:{} https://api.acme.dev", 'curl -s -u "bob:{}" localhost:9200', "curl -d '{{\"user\":\"bob\",\"password\":\"{}\"}}' localhost", "htpasswd -Bbn bob {}",
    "unzip -P {} a.zip", "tool --db-password {} migrate", 'tool login --password "{}"', "tool --passphrase {} sign",
    "PGPASSWORD={} psql -U bob", "export DB_PASSWORD={}", "docker run -e MYSQL_ROOT_PASSWORD={} -d mysql", "      - WORDPRESS_DB_PASSWORD={}",
    "db:\n  user: bob\n  password: {}\n  port: 1", "wifi:\n  ssid: home\n  password: '{}'", "spring.datasource.password={}", "[mail]\nuser = bob\npassword = {}",
    "<password>{}</password>", '<add key="Password" value="{}" />', '{{"user": "bob", "password": "{}"}}', "$conf['db_password'] = '{}';",
    "postgres://bob:{}@db/shop", "redis://:{}@cache:6379/0", "host=db user=bob password={} dbname=shop", "Server=db;User Id=sa;Password={};", "jdbc:mysql://db/shop?user=bob&password={}",
    "CREATE USER bob IDENTIFIED BY '{}';", "ALTER USER bob WITH PASSWORD '{}';", "machine ftp.acme.dev login bob password {}", "db:5432:shop:bob:{}",
    "user: bob, password: {}", "the password is {}.", "Passwort: {}", "contraseña: {}", "mot de passe : {}", "senha: {}", "пароль: {}", "密码：{}", "パスワード: {}", "비밀번호: {}", "hasło: {}", "wachtwoord={}",
    "kubectl create secret generic db --from-literal=user=app --from-literal=password={}", "docker build --build-arg db_password={} .", "see `web1 ansible_user=ops ansible_ssh_pass={}`",
]  # fmt: skip
"""Where nothing but a password stands. `mysql -p WORD` names a database: there, and in a sentence,
a password is known by a digit.
"""


@pytest.mark.parametrize("line", LINES)
def test_a_word_in_the_place_of_a_password_is_one(line: str) -> None:
    """Whatever it looks like: only the place tells."""
    spaced = line.startswith(("mysql -p ", "the password is"))
    for word in ("hunter22",) if spaced else ("correcthorse", "letmein", "hunter22", "winter"):
        text = line.format(word)

        assert word not in redact(text).text, text


@pytest.mark.parametrize(
    "line",
    [
        "mein Passwort ist {}, damit kommst du rein", "Benutzer anna, Kennwort {}", "user anna password {}", "`a senha do admin é {}` failed", "(“le mot de passe du serveur c'est {}”)",
        "what's the wifi password again? - {}", "anna: pw?\nben: sure: {}", "Q: what's the admin password?\nA: {}", "Passwort für die Tests?\n- ja, {}",
        "log in as anna / {}", "credentials: anna/{}. then restart", "log in with anna:{} and look", "set -gx OPENSEARCH_PASS {}", "environment {{ NEXUS_PASSWORD = '{}' }}", '[smtp]\nuser = "noreply"\npass = "{}"',
        "always use spring.datasource.password={} here", "Remember: [corp]\nusername = build\npassword = {}",
    ],
)  # fmt: skip
def test_a_word_with_digits_that_is_said_to_be_one_is_one(line: str) -> None:
    """A clause may follow, a quotation end, and the word for it stand in the question."""
    assert "Fl1ederbusch" not in redact(line.format("Fl1ederbusch")).text


@pytest.mark.parametrize(
    "password", ["md19850412", "es2024", "Ed1985", "rs123456", "ps20241231", "page123", "section8"]
)
@pytest.mark.parametrize(
    "line",
    ["PGPASSWORD={}", "mysql --password={}", "postgres://bob:{}@db.example.com/x", "my password is {}"],
)  # fmt: skip
def test_initials_with_a_date_and_a_numbered_word_are_passwords(line: str, password: str) -> None:
    """They passed for the name of an algorithm, or for the field of a form."""
    assert password not in redact(line.format(password)).text


@pytest.mark.parametrize(
    "text",
    ["密码：我的Fl1ederbusch9!", "パスワード：さくらFl1ederbusch9", "パスワードは変更してFl1ederbusch9にしました"],
)  # fmt: skip
def test_a_password_within_chinese_or_japanese_words_is_one(text: str) -> None:
    """What begins with a Chinese or Japanese sign passed for a phrase about a password."""
    assert "Fl1ederbusch9" not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "did you reset the password? - step2 is done", "forgot your password? - see page2 of the manual", "which password? - the 2nd one", "is it the password?\n- utf8 works", "self.password=new_value2", "--set image.tag=v2",
        "mysql -u root -p shop", "mysql -u root -p shop_db2 < dump.sql", "The sshpass -p option is unsafe", "use --password instead of -p", "--password string   the password to use", "  --password PASSWORD", "--password-stdin",
        "docker run -p 8080:80 --name mysql web", "redis-cli -a $REDIS_PASSWORD ping", "curl -u user:password https://x", 'curl -u "$USER:$PASS" https://x', "PGPASSWORD=$PW psql", "DB_PASSWORD=",
        "password: required", "password: string", "    password: str\n    name: str", "  password: z.string()", "{ user: name, password: typedWord }", "connect(user=name, password=word)", "  password: hashed,\n",
        "def f(\n    user,\n    password=word\n):", "password = prompt", "Password: ********", "password: changeme", "passwort: Passwort", '"password": "Mot de passe"', '"password": "Contraseña"', "the password is wrong",
        "the password is hashed with argon2 first", "https://user:pass@example.com", "postgres://postgres:postgres@db/x", "<password>${env.PW}</password>", "password: !secret mqtt", "passwordless: true", "password: *default_pw",
        "Sign in with google/facebook2 does not work.", "Log in as anna: dashboard2 should load", "login: anna / homepage2 is empty", "account created: anna/project2024 was the first",
        "set DB_PASSWORD field2 to required", "Is the password? - yes, argon2id", "{ PASSWORD: 'bcrypt12' }", "PASSWORD: 'aes-256-gcm'", "PASSWORD_HASH: 'sha512/256'", "PASSWORD: 'blake2b'", "PASSWORD: 'pbkdf2_sha256'", "password is 'scrypt16384'",
        "密码是在第2步设置的", "パスワードは手順2で設定します", "密码是第3页说的那个", "set PASSWORD column3 to not null",
        "machine api login token password here", "IDENTIFIED BY 'password'", "ALTER USER bob WITH PASSWORD 'your_password';",
    ],
)  # fmt: skip
def test_what_stands_there_and_is_none_stays(text: str) -> None:
    """Options that are spoken of, types, states, algorithms, parts of a form, variables, placeholders,
    translations, code.
    """
    assert find_secrets(text) == ()


def test_an_argument_that_is_named_as_a_password_is_one() -> None:
    """Of a tool call in JSON, where the key is the argument's name."""
    call = {"input": {"user": "bob", "password": "winter", "host": "db"}}

    assert redact_json(call) == {
        "input": {"user": "bob", "password": "[redacted: password]", "host": "db"}
    }


def test_no_such_password_is_kept_of_an_imported_session(tmp_path: Path) -> None:
    """What a user typed stands in no file of the home after `memorist import`."""
    asked = "From now on always test with: mysql -u root -pcorrecthorse shop\npasswort: winterzeit"
    codex(tmp_path / ".codex" / "sessions" / "2026" / "05" / "28" / "rollout-x1.jsonl", [asked])
    home = tmp_path / "home"
    environment = {"HOME": str(tmp_path), "MEMORIST_HOME": str(home)}

    done = CliRunner().invoke(memorist_group, ["import", "--yes"], env=environment)

    assert done.exit_code == 0, done.output
    written = b"".join(each.read_bytes() for each in home.rglob("*") if each.is_file())
    assert b"mysql -u root" in written
    assert b"correcthorse" not in written
    assert b"winterzeit" not in written
