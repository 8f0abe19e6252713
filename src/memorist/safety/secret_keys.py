"""What the name of a key says of its value: a password, another secret, or neither. By the words in
the name, in some thirty languages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from memorist.core.text_analysis import parse_word_list

KeyKind = Literal["password", "pass", "secret", "auth", "key", ""]
"""What a key names. `pass` is the bare word, which names much else; `auth` wants a longer value,
`key` one of three kinds of characters; empty: no secret.
"""

PASSWORD_WORDS = parse_word_list(
    """
         password passwords passwd passwrd passord passwort passphrase passcode passkey
    passwordstr pwd     psw pswd psword pw mdp kennwort contrasena contraseña contrasenya senha
    clave wachtwoord     losenord lösenord adgangskode kodeord salasana haslo hasło heslo jelszo
    jelszó parola parolă     sifre şifre lozinka geslo parool losung requirepass storepass keypass
    masterauth psk vaultpass     sshpass userpass dbpass rootpass mypass adminpass keystorepass
    truststorepass bindpw rootpw     dbpw
    """
)
SECRET_WORDS = parse_word_list(
    """
         secret secrets token credential credentials creds segredo secreto jeton chiave schlüssel
    schluessel apikey authkey accesskey secretkey privatekey masterkey signingkey encryptionkey
    authtoken accesstoken apitoken apisecret clientsecret bearertoken refreshtoken sessiontoken
    sessionkey accountkey appkey appsecret sharedkey hmackey jwtsecret licensekey dsn salt
    geheimnis phpsessid jsessionid sessionid sid skey streamkey webhook
    """
)
AUTH_WORDS = frozenset(("auth",))
KEY_QUALIFIERS = parse_word_list(
    """
         api access secret private encryption encrypt signing sign signature master session client
    account auth app application service crypto hmac jwt shared deploy admin root license licence
    product subscription stream streaming publish server consumer webhook bot storage ssh tls ssl
    vault cookie csrf django flask rails laravel integration write ingest developer dev prod live
    production staging partner merchant transaction wallet recovery backup security sas primary
    secondary connection personal project org team user function functions event host rsa ec
    ed25519 pgp gpg aes des cipher decryption symmetric base instrumentation sdk rest sentry maps
    geocoding billing registration enrollment join unlock device service-role anon role upload
    download
    """
)
"""What must be before `key` for it to name a secret."""
_PASS_OWNERS = parse_word_list(
    """
         db database smtp mail email imap pop user usr admin root my mysql mariadb sql pg postgres
    redis mongo mongodb ftp sftp ssh http https auth login bind ldap api service svc app proxy
    sudo enable wifi wlan key store keystore truststore cert vault backup default rabbitmq amqp mq
    kafka es elastic opensearch jenkins git docker registry wp wordpress site account client server host node
    cluster master slave replica jwt vpn router web bot sa oracle mssql sender portal basic
    grafana nexus artifactory sonar jira repo remote become bind cert ca wpa snmp pdf zip archive
    """
)
"""Whose `pass` is a password: `db_pass`, and not `should_pass`."""
_OTHER_KEYS = parse_word_list(
    """
         primary foreign sort partition cache row object hash index dict map group hot short
    storage     lookup registry routing idempotency dedupe trace span sub super site sitemap react
    i18n     message translation label column field item node config property attribute header
    metric     feature meta tab menu nav view state query search param arrow enter escape shift
    control     command return delete space left right up down any each per same unique composite
    range     document record file path s3 blob data json yaml host-key public
    """
)
NEVER_BEFORE = parse_word_list(
    """
         public publishable num max min count page next prev previous cursor cache sort partition
    foreign idempotency dedup dedupe trace span continuation sync resume csrf xsrf authenticity by
    no nonce list input output total prompt completion eos bos pad unk mask special verify
    hashed bypass commit pagination query skip
    """
)
"""Words that make a token or key into something else."""
_SUFFIXES = parse_word_list(
    """
         value val string str prod production dev development staging live test testing raw plain
    text     plaintext cleartext clear b64 base64 old new admin root user db default current
    primary     secondary main master bot app client server hex env encoded base confirmation
    confirm ist is
    """
)
_HUMPS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONG_WORDS = ("password", "passwd", "passwort", "passphrase", "passcode")
_LONG_SECRETS = ("secret", "token", "apikey", "accesskey", "privatekey", "secretkey")


@lru_cache(maxsize=8192)
def classify_secret_key_name(name: str) -> KeyKind:
    """What a key of this name holds. The name may be `DB_PASSWORD_2`, `accessToken`, `api key`,
    `X-Api-Key`, `mot de passe`.
    """
    words = [part.lower() for word in _HUMPS.findall(name) for part in _CAMEL.split(word)]
    while len(words) > 1 and (
        words[-1].isdigit()
        or words[-1] in _SUFFIXES
        or (words[-1][0] == "v" and words[-1][1:].isdigit())
    ):
        words.pop()
    if not words or any(word in NEVER_BEFORE for word in words[-3:-1]):
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in PASSWORD_WORDS or last.endswith(_LONG_WORDS):
        return "pass" if last in {"pw", "mdp"} and not before else "password"
    if last == "passe" or (last == "secret" and before == "code"):
        return "password" if before in {"de", "code"} else ""
    if last == "pass":
        spaced = name[-5:-4] == " "
        return "password" if before in _PASS_OWNERS else "" if before and not spaced else "pass"
    if last in {"key", "chiave", "clé", "cle"}:
        return "secret" if before in KEY_QUALIFIERS else "" if before in _OTHER_KEYS else "key"
    return _other_kind(last, before)


def _other_kind(last: str, before: str) -> KeyKind:
    if last in AUTH_WORDS:
        return "auth"
    if (
        last in SECRET_WORDS
        or last.endswith(_LONG_SECRETS)
        or (last.endswith("key") and last[:-3] in KEY_QUALIFIERS)
    ):
        return "" if last in {"sid", "salt", "webhook", "dsn"} and not before else "secret"
    if last in {"kata", "sandi"} or (last in {"khau", "khẩu"} and before in {"mat", "mật"}):
        return "password"
    return ""


BEYOND_ASCII: dict[str, KeyKind] = {
    **dict.fromkeys(
        ["contraseñ", "пароль", "пароля", "пароле", "паролем", "парол", "Пароль", "ПАРОЛЬ", "гасло", "Гасло", "密码", "密碼", "口令", "パスワード", "暗証番号", "パスフレーズ", "비밀번호", "암호", "비번", "lösenord", "Lösenord", "hasło", "Hasło", "HASŁO", "şifre", "Şifre", "jelszó", "Jelszó", "slaptažodis", "Slaptažodis", "κωδικός", "Κωδικός", "κωδικος", "סיסמה", "סיסמא", "पासवर्ड", "रहस्य", "รหัสผ่าน", "пасворд", "Contraseñ", "CONTRASEÑ", "parolă", "parolei", "пароли", "лозинка", "Лозинка", "парола", "Парола", "ਪਾਸਵਰਡ", "পাসওয়ার্ড", "கடவுச்சொல்", "رمز", "گذرواژه", "暗号"],
        "password",
    ),
    **dict.fromkeys(("mật khẩu", "Mật khẩu", "كلمة المرور", "كلمة مرور", "كلمة السر", "كلمة سر", "رمز عبور", "κωδικός πρόσβασης"), "password"),
    **dict.fromkeys(
        ["密钥", "密鑰", "令牌", "私钥", "私鑰", "金鑰", "トークン", "シークレット", "秘密鍵", "秘密キー", "APIキー", "apiキー", "アクセスキー", "API키", "api키", "토큰", "시크릿", "токен", "Токен", "секрет", "Секрет", "schlüssel", "Schlüssel", "מפתח", "khóa", "anahtarı", "مفتاح", "टोकन", "κλειδί", "klíč", "nyckel", "avain", "kľúč", "ключ", "Ключ", "秘钥", "授权码", "鉴权码"],
        "secret",
    ),
}  # fmt: skip
"""Words outside ASCII that name a secret, as they are in texts: they are looked for as such, for
a text's capitals are not folded there.
"""
