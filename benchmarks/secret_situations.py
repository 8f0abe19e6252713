"""Hard situations: how secrets stand in terminals, files, tables, chats and commands, in several
languages. The drawn values are made up.

`{P}` is a password, `{K}` a key of 32 letters and digits, `{H}` 40 hex digits, `{G}` a token of a
known format, `{S}` a short password.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from random import Random
from string import ascii_letters, digits

SITUATIONS = (
    "\x1b[32m{G}\x1b[0m", "\x1b[1;31mtoken\x1b[0m=\x1b[33m{G}\x1b[m", "\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K={P}", "+\x1b[32mDB_PASSWORD={P}\x1b[m", '"\\u001b[32m{G}\\u001b[39m"', "\x1b[36mapi_key:\x1b[0m {K}",
    "\\033[0;32m{G}\\033[0m", "\x1b[38;5;82mpassword:\x1b[0m \x1b[1m{P}\x1b[0m", "export PASSWORD=\x1b[31m{P}\x1b[0m",
    "DB_PASS={P}", "SMTP_PASS={P}", "MAIL_PASS='{P}'", "export DBPASS={P}", "REDIS_PASS: {P}", 'user_pass = "{P}"', "PGPASSWORD={P} psql -h db", "MYSQL_PWD={P} mysql", "ADMIN_PW={P}", "root_pw: {P}",
    "| password | {P} |", "| DB_PASSWORD | `{P}` | staging |", "|API key|{K}|", "<tr><td>Password</td><td>{P}</td></tr>", "<dt>API key</dt><dd>{K}</dd>",
    "| user | password |\n|------|----------|\n| bob | {P} |\n| eve | x |", "user,password,host\nbob,{P},db1\n", "name\ttoken\nci\t{K}\n", "│ password │ {P} │", "Password      {P}", "login\tpassword\nbob\t{P}",
    "**Password:** {P}", "**API key**: `{K}`", "- Password: `{P}`", "* token — {K}", "Password for bob: {P}", "password (staging): {P}", "The password is {P}.", "my password is {P} ok?", "use the password '{P}' for now",
    "Passwort: {P}", "Das Passwort lautet {P}", "Kennwort = {P}", "mot de passe : {P}", "Le mot de passe est {P}", "contraseña: {P}", "La contraseña es {P}", "Contraseña={P}", "senha: {P}", "a senha é {P}",
    "пароль: {P}", "Пароль — {P}", "пароль от базы: {P}", "密码：{P}", "密码是{P}", "数据库密码: {P}", "パスワード: {P}", "パスワードは {P} です", "パスワードは「{P}」です", "비밀번호: {P}", "비밀번호는 {P} 입니다",
    "wachtwoord: {P}", "hasło: {P}", "Lösenord: {P}", "şifre: {P}", "mật khẩu: {P}", "كلمة المرور: {P}", "סיסמה: {P}", "Parola d'ordine: {P}", "la password è {P}", "токен: {K}", "API密钥：{K}", "APIキー: {K}", "clave api: {K}", "Schlüssel: {K}",
    "mysql -u root -p{P} shop", "mysqldump -uroot -p'{P}' shop > x.sql", "sshpass -p {P} ssh bob@host", "sshpass -p '{P}' scp a b:", "docker login -u bob -p {P} registry.acme.dev", "az login --service-principal -u app -p {P} --tenant t", "redis-cli -h cache -a {P} ping",
    "curl -u bob:{P} https://api.acme.dev", "curl --user 'bob:{P}' https://api.acme.dev", "wget --password={P} https://x", "ldapsearch -x -D cn=admin -w {P} -b dc=acme", "mongosh -u admin -p {P}", "deploy --api-key {K} --wait", "tool --token={K}", 'tool --password "{P}"',
    "sqlcmd -S db -U sa -P {P}", "htpasswd -b .htpasswd bob {P}", "echo {P} | docker login -u bob --password-stdin acme", "echo '{P}' | sudo -S apt update", "openssl rsa -in k.pem -passin pass:{P}", "unzip -P {P} a.zip", "7z x -p{P} a.7z", "helm registry login -u bob -p {P} r.io",
    "aws configure set aws_secret_access_key {B}", "setx API_KEY {K}", '$env:API_KEY = "{K}"', "set API_TOKEN={K}", "npm config set //npm.acme.dev/:_authToken {K}", "//registry.acme.dev/:_authToken={K}", "_auth={U}", "kubectl create secret generic db --from-literal=password={P}",
    "ENV API_KEY={K}", "ENV SECRET_TOKEN {K}", "ARG NPM_TOKEN={K}", "-e POSTGRES_PASSWORD={P}", "heroku config:set SECRET_KEY={K}", "gh secret set TOKEN --body {G}", "psql postgresql://bob:{P}@db:5432/x",
    "postgres://bob:{P}@db.acme.dev:5432/x", "mongodb+srv://svc:{P}@c0.mongodb.net/", "redis://:{P}@cache:6379", "amqp://bob:{P}@mq/vhost", "https://bob:{P}@git.acme.dev/r.git", "https://{G}@github.com/a/b", "https://oauth2:{G}@gitlab.com/a/b.git", "ftp://bob:{P}@ftp.acme.dev",
    "jdbc:postgresql://db/x?user=bob&password={P}", "jdbc:oracle:thin:bob/{P}@db:1521:x", "Server=db;Database=x;User Id=sa;Password={P};", "Data Source=db;uid=sa;pwd={P};", "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={Z}==;EndpointSuffix=x", "https://api.acme.dev/v1?api_key={K}&x=1", "?access_token={K}",
    '{{"password": "{P}"}}', '{{"db": {{"pass": "{P}"}}}}', '"apiKey":"{K}"', '\\"client_secret\\":\\"{K}\\"', "{{'token': '{K}'}}", "password: '{P}'", "password: {P}", "password: >-\n  {P}", "password: |\n    {P}\n", 'secret:\n  "{K}"', 'api_key = "{K}"', "password={P}", ":password => '{P}'", 'password := "{P}"',
    "<password>{P}</password>", '<add key="ApiKey" value="{K}" />', "<key>ApiToken</key>\n<string>{K}</string>", 'define("DB_PASSWORD", "{P}");', 'os.environ["API_KEY"] = "{K}"', 'os.environ.setdefault("SECRET_KEY", "{K}")', 'process.env.TOKEN = "{K}"', 'const password: string = "{P}";', 'String password = "{P}";',
    'password=SecretStr("{P}")', 'api_key=b"{K}"', 'Client(token="{K}")', 'if password == "{P}":', "spring.datasource.password={P}", "requirepass {P}", "ALTER USER bob WITH PASSWORD '{P}';", "CREATE USER bob IDENTIFIED BY '{P}';", "machine api.acme.dev login bob password {P}", "db:5432:shop:bob:{P}",
    "Authorization: Bearer {K}", "Authorization: token {H}", "Authorization: Basic {U}", "X-Api-Key: {K}", "-H 'X-Auth-Token: {K}'", '"Authorization": "Token {H}"', "PRIVATE-TOKEN: {G}", "Cookie: sessionid={K}; x=1", "Set-Cookie: session={K}; HttpOnly", "Proxy-Authorization: Basic {U}", "Authorization: ApiKey {K}",
    "{PEM}", "{PEMESC}", "  1\t{PEM}", "> {PEM}", "{PEMCUT}", '"{GA}" + "{GB}"', '"{GA}"\n    "{GB}"', 'token = "{GA}" \\\n  "{GB}"', "curl -H x:{GA}\\\n{GB}", "KEY={GA}\n{GB}", '"{GA}" . "{GB}"', "%20{G}", "token%3D{G}", "key=%22{G}%22", "\\u003d{G}",
    "bob:$6$ab12cd34${Z}:19000:0:99999:7:::", "bob:$2y$10${T}", "bob:$apr1$ab12cd34${R}", '"auth": "{U}"', "data:\n  password: {U}", '"auths": {{"r.io": {{"auth": "{U}"}}}}', "seed phrase: {W}", "client_secret={K}&grant_type=x", "the key for staging is {G}, thanks", "請使用{G}。", "令牌={K}", "（{G}）", "`{G}`", "<{G}>", "{G}…",
    "git clone https://bob:{G}@github.com/a/b", "Your verification token: {K}", "JWT_SECRET={K}", "SECRET_KEY_BASE={H}{H}", "DJANGO_SECRET_KEY='{K}'", "ENCRYPTION_KEY={H}", "webhook_secret: {K}", "signing_key={K}", "password2: {P}", "OLD_PASSWORD={P}", "db.password = {P}", "Password>{P}</", "password->{P}",
)  # fmt: skip
MORE_SITUATIONS = (
    # programs' own files
    'environment = {{\n  DB_PASSWORD = "{P}"\n}}', 'variable "db_password" {{\n  default = "{P}"\n}}', 'master_password      = "{P}"', 'Environment="API_TOKEN={K}"', 'environment=HOME="/srv",SECRET_KEY="{K}"',
    "[pypi]\nusername = __token__\npassword = {P}", "<server><id>r</id><username>ci</username><password>{P}</password></server>", "mavenPassword={P}", '<add name="Db" connectionString="Server=db;User ID=sa;Password={P}" />', "'password' => env('DB_PASSWORD', '{P}'),",
    ':secret_key_base => "{H}{H}"', 'config :app, App.Endpoint, secret_key_base: "{K}{K}"', '{{:db-password "{P}"}}', "local password = '{P}'", 'Sys.setenv(API_KEY = "{K}")', 'ENV["API_TOKEN"] = "{K}"', 'services.app.environment.JWT_SECRET = "{K}";', 'db {{ user = "bob", password = "{P}" }}',
    'private const val API_KEY = "{K}"', 'let apiToken: String = "{K}"', 'const PASSWORD: &str = "{P}";', 'Password: "{P}",', "$password = '{P}';", 'my $password = "{P}";', 'ConvertTo-SecureString "{P}" -AsPlainText -Force', 'set "DB_PASSWORD={P}"', "set -gx API_KEY {K}", "setenv API_KEY {K}", "let g:api_token = '{K}'",
    "- name: DB_PASSWORD\n  value: {P}", '- name: API_KEY\n          value: "{K}"', "environment:\n  - POSTGRES_PASSWORD={P}", '"Env": ["PATH=/bin", "DB_PASSWORD={P}"]', "stringData:\n  password: {P}", "helm install x . --set auth.password={P}", "[client]\nuser=root\npassword={P}", "bindpw {P}", 'psk="{P}"', "wpa_passphrase home {P}",
    "username=bob\npassword={P}\ndomain=acme", "enable secret {P}", "snmp-server community {P} RO", "user default on >{P} ~* +@all", "default_pass = {P}", 'db.createUser({{user: "bob", pwd: "{P}", roles: []}})', "https://bob:{P}@git.acme.dev", "protocol=https\nhost=g.dev\nusername=bob\npassword={P}", "users:\n- name: ci\n  user:\n    token: {K}",
    "secret_access_key = {B}", "aws_secret_access_key={B}", '"SecretAccessKey": "{B}"', "secret_key = {B}", "gs_secret_access_key = {B}", "client_secret = {K}", 'registry "acme" {{ token = "{K}" }}', "npmAuthToken: {K}", "always-auth=true\n_password={U}", "index-url = https://bob:{P}@pypi.acme.dev/simple", "http-basic.acme.dev bob {P}",
    # what programs print
    'declare -x DB_PASSWORD="{P}"', "DB_PASSWORD={P}\nHOME=/root\nSHLVL=1", "root 12 0.0 mysqld --password={P} --port=3306", "2026-01-02T10:00:00Z INFO login user=bob password={P} ip=10.0.0.1", "User(name='bob', password='{P}')", "User[name=bob, password={P}]", "{{'user': 'bob', 'password': '{P}'}}", 'level=debug msg="connecting" dsn="bob:{P}@tcp(db:3306)/shop"',
    "> Authorization: Bearer {K}", "< set-cookie: session_token={K}; Path=/", '{{"name": "Authorization", "value": "Bearer {K}"}}', '{{"key": "api_key", "value": "{K}"}}', "Your new password: {P}", "Generated password: {P}", "A temporary password is generated for root@localhost: {P}", "Password set to {P}", "Created API key: {K}", "Access Key ID: x\nSecret Access Key: {B}",
    "token: {K} (expires in 30 days)", "New token (copy it now):\n{G}", '  password   = "{P}" -> (sensitive value)', '+ password = "{P}"', "-DB_PASSWORD={P}", "@@ -1 +1 @@\n-token: {K}", "config.py:12:PASSWORD = '{P}'", "  12:  api_key: {K}", "./.env:3:SMTP_PASSWORD={P}", "\x1b[35m.env\x1b[0m\x1b[36m:\x1b[0m\x1b[32m3\x1b[0m\x1b[36m:\x1b[0mSMTP_PASSWORD={P}",
    # the web
    "https://app.acme.dev/cb#access_token={K}&token_type=bearer", "https://api.acme.dev/x?apikey={K}", "https://acme.dev/reset?password={P}", "username=bob&password={P}", 'Content-Disposition: form-data; name="password"\n\n{P}', "<wsse:Password>{P}</wsse:Password>", '<input type="password" name="pw" value="{P}">', "X-Vault-Token: {K}", "http POST api.acme.dev X-Api-Key:{K}", "xoauth2 token {K}", "Authorization: Digest {H}",
    'fetch(u, {{headers: {{"x-api-key": "{K}"}}}})', "headers={{'X-Auth-Token': '{K}'}}", "auth=('bob', '{P}')", "HTTPBasicAuth('bob', '{P}')", 'requests.get(u, params={{"api_key": "{K}"}})', "psycopg2.connect(host='db', password='{P}')", "new Client({{ password: '{P}' }})", "jwt.encode(payload, '{K}', algorithm='HS256')", "createClient(url, '{G}')", "smtp.login('bob@acme.dev', '{P}')", "ssh.connect(h, username='bob', password='{P}')",
    # command lines
    "PGPASSWORD='{P}' pg_dump shop", "mysql --user=root --password={P}", "mongodump --uri mongodb://bob:{P}@h/x", "vault login {G}", "export TOKEN=$(echo {G})", "curl -H 'X-Api-Key: {K}' u", 'curl -H "Authorization: Bearer {K}" u', "curl 'https://u?token={K}'", "curl -d '{{\"password\":\"{P}\"}}' u", "curl -d password={P} u", "wget --http-password={P} u", "rsync --password-file=<(echo {P}) a b", "smbclient //h/s -U bob%{P}", "net use \\\\h\\s {P} /user:bob", "cmdkey /add:h /user:bob /pass:{P}", "xfreerdp /u:bob /p:{P} /v:h", "ipmitool -U admin -P {P} power", "openssl enc -aes-256-cbc -k {P} -in a", "gpg --batch --passphrase {P} -d x", "keytool -storepass {P} -list", "sudo useradd -p '{P}' bob", "echo 'bob:{P}' | chpasswd", "terraform apply -var db_password={P}", "ansible -e 'ansible_password={P}' all", "docker run -e API_KEY={K} x", "snowsql -u bob --password {P}", "lftp -u bob,{P} h", "ncftpput -u bob -p {P} h", "pip install -i https://bob:{P}@p/simple x", "git remote add o https://{G}@github.com/a/b",
    # people
    "pw: {P}", "pass: {P}", "pwd is {P}", "login: bob / {P}", "user bob, password {P}", "username: bob password: {P}", "credentials: bob:{P}", "creds are bob / {P}", "log in as bob with password {P}", "here's the api key: {K}", "the token is `{K}`", "use this key {G} please", "my openai key is {K}", "set the secret to {K}", "password (do not share) {P}", "the db password changed to {P}",
    "das Passwort ist {P}", "Zugangsdaten: bob / {P}", "mon mot de passe c'est {P}", "identifiants : bob / {P}", "la clave es {P}", "usuario: bob clave: {P}", "senha do banco: {P}", "la password del db è {P}", "пароль такой: {P}", "логин bob пароль {P}", "账号：bob 密码：{P}", "密码改成 {P}", "令牌是 {K}", "パスワードを{P}に変更", "비번은 {P}", "hasło to {P}", "heslo je {P}", "kata sandi: {P}", "wachtwoord is {P}", "lösenordet är {P}", "şifresi {P}", "parola este {P}", "κωδικός: {P}", "รหัสผ่าน: {P}", "पासवर्ड: {P}",
)  # fmt: skip
"""Further situations, written after the rules: files of many programs, what they print, the web,
commands, and what people write in some twenty languages. Rules were mended by the half that
`part_of` calls looked at.
"""
_WORDS = [
    "abandon",
    "ability",
    "cradle",
    "fabric",
    "galaxy",
    "habit",
    "jacket",
    "kidney",
    "ladder",
    "magnet",
    "napkin",
    "object",
    "paddle",
    "quantum",
    "rabbit",
    "saddle",
]


def draw_situations(
    situations: tuple[str, ...], seed: int = 1, each: int = 3
) -> Iterator[tuple[str, str, str]]:
    """Yield each situation, its text with drawn values, and the secret in it."""
    random = Random(seed)
    for situation in situations:
        for _ in range(each):
            yield (situation, *fill_situation(situation, random))


def fill_situation(situation: str, random: Random) -> tuple[str, str]:
    """The situation with values drawn, and the secret in it."""

    def draw(letters: str, size: int) -> str:
        return (
            "".join(random.choice(letters) for _ in range(size - 2))
            + random.choice(digits)
            + random.choice(ascii_letters)
        )

    token = random.choice(
        (
            "ghp_" + draw(ascii_letters + digits, 36),
            "glpat-" + draw(ascii_letters + digits, 20),
            "sk-ant-api03-" + draw(ascii_letters + digits + "-_", 95),
            "AKIA" + draw("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 14).upper() + "Q7",
        )
    )
    body = [draw(ascii_letters + digits + "+/", 64) for _ in range(12)]
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    values = {
        "P": draw(ascii_letters + digits + "!#%+-_.", random.choice((10, 12, 16))), "K": draw(ascii_letters + digits, 32), "H": draw("0123456789abcdef", 38) + "a4", "G": token, "B": draw(ascii_letters + digits + "+/", 40),
        "Z": draw(ascii_letters + digits, 86), "T": draw(ascii_letters + digits, 53), "R": draw(ascii_letters + digits, 22), "U": base64.b64encode(("bob:" + draw(ascii_letters + digits, 18)).encode()).decode(), "W": " ".join(random.sample(_WORDS, 12)),
        "PEM": "\n".join((begin, *body, end)), "PEMESC": "\\n".join((begin, *body, end)), "PEMCUT": "\n".join((begin, *body[:4])), "GA": token[: len(token) // 2], "GB": token[len(token) // 2 :],
    }  # fmt: skip
    text = situation.format(**values)
    names = [name for name in values if "{" + name + "}" in situation]
    main = next(
        (
            name
            for name in (
                "PEM",
                "PEMESC",
                "PEMCUT",
                "GA",
                "G",
                "P",
                "K",
                "H",
                "B",
                "Z",
                "T",
                "R",
                "U",
                "W",
            )
            if name in names
        ),
        names[0],
    )
    secret = values[main]
    if main.startswith("PEM"):
        secret = body[2]
    return text, secret
