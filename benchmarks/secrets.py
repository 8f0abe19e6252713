"""Secrets found and false alarms, beside detect-secrets and Betterleaks where they are installed:
a corpus of made-up secrets, tokens drawn from the rules of Betterleaks, hard situations, and what
only looks like a secret (SF-1).
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from msgspec import Struct

from benchmarks.datasets import all_sessions
from benchmarks.report import BenchResult, BenchRow
from benchmarks.secret_situations import MORE_SITUATIONS, SITUATIONS, draw_situations
from benchmarks.secret_yardsticks import draw_from_rules
from memorist.safety.secrets import find_secrets

# A corpus of made-up secrets and of what only looks like one, for the measurement and the tests
# of `memorist.safety.secrets`.


_ALPHABETS = {
    "A": ascii_letters + digits,
    "H": "0123456789abcdef",
    "U": ascii_uppercase + digits,
    "L": ascii_lowercase + digits,
    "W": ascii_letters + digits + "-_",
    "B": ascii_letters + digits + "+/",
    "D": digits,
    "X": ascii_letters,
}
_HOLE = re.compile(r"\{([AHULWBDX])(\d+)\}")
_UUID = "{H8}-{H4}-{H4}-{H4}-{H12}"

SHAPES: dict[str, tuple[str, ...]] = {
    "aws-access-key": ("AKIA{U16}", "ASIA{U16}"),
    "aws-bedrock-key": ("ABSK{B120}", "bedrock-api-key-{A60}"),
    "google-api-key": ("AIza{W34}a",),
    "google-oauth-token": ("ya29.{W60}",),
    "google-oauth-secret": ("GOCSPX-{W28}",),
    "google-refresh-token": ("1//0{W60}",),
    "azure-client-secret": ("{A3}8Q~{A34}",),
    "azure-devops-token": ("{A76}AZDO{A4}",),
    "digitalocean-token": ("dop_v1_{H64}", "doo_v1_{H64}"),
    "alibaba-access-key": ("LTAI{A20}",),
    "tencent-secret-id": ("AKID{A32}",),
    "cloudflare-origin-key": ("v1.0-{H24}-{H146}",),
    "heroku-token": ("HRKU-{W60}",),
    "fly-token": ("fm2_{B120}", "fo1_{W43}"),
    "netlify-token": ("nfp_{A36}",),
    "vault-token": ("hvs.{W90}", "hvb.{W140}"),
    "terraform-token": ("{A14}.atlasv1.{A67}",),
    "pulumi-token": ("pul-{H40}",),
    "doppler-token": ("dp.pt.{A43}", "dp.st.dev.{A43}"),
    "onepassword-token": ("ops_eyJ{B300}",),
    "age-key": ("AGE-SECRET-KEY-1{U58}",),
    "databricks-token": ("dapi{H32}",),
    "planetscale-token": ("pscale_tkn_{W43}",),
    "supabase-key": ("sbp_{H40}", "sb_secret_{W31}"),
    "neon-key": ("napi_{L64}",),
    "tailscale-key": ("tskey-auth-{A17}-{A32}",),
    "github-token": ("ghp_{A36}", "gho_{A36}", "ghs_{A36}", "github_pat_{A22}_{A59}"),
    "gitlab-token": ("glpat-{A20}", "glpat-{A27}.01.{L9}", "glrt-{A20}", "gldt-{A20}"),
    "bitbucket-token": ("ATBB{A32}", "ATCTT3{W180}"),
    "atlassian-token": ("ATATT3{W186}",),
    "sourcegraph-token": ("sgp_{H40}", "sgp_{H16}_{H40}"),
    "circleci-token": ("CCIPAT_{A22}_{H40}",),
    "buildkite-token": ("bkua_{H40}",),
    "sonar-token": ("squ_{H40}",),
    "anthropic-key": ("sk-ant-api03-{W93}AA", "sk-ant-oat01-{W93}AA"),
    "openai-key": ("sk-proj-{W74}", "sk-svcacct-{W74}"),
    "openrouter-key": ("sk-or-v1-{H64}",),
    "langfuse-key": (f"sk-lf-{_UUID}",),
    "model-key": ("sk-{A48}", "sk-{H32}"),
    "langsmith-key": ("lsv2_pt_{H32}_{H10}",),
    "huggingface-token": ("hf_{X34}",),
    "replicate-token": ("r8_{A37}",),
    "groq-key": ("gsk_{A52}",),
    "xai-key": ("xai-{A80}",),
    "perplexity-key": ("pplx-{A48}",),
    "fireworks-key": ("fw_{A24}",),
    "cerebras-key": ("csk-{L48}",),
    "tavily-key": ("tvly-dev-{A32}",),
    "nvidia-key": ("nvapi-{W64}",),
    "pinecone-key": ("pcsk_{A5}_{A60}",),
    "jina-key": ("jina_{A60}",),
    "e2b-key": ("e2b_{H40}",),
    "firecrawl-key": ("fc-{H32}",),
    "elevenlabs-key": ("sk_{H48}",),
    "apify-token": ("apify_api_{A36}",),
    "slack-token": (
        "xoxb-{D12}-{D12}-{A24}",
        "xoxp-{D12}-{D12}-{D12}-{H32}",
        "xapp-1-A{U10}-{D13}-{H64}",
    ),
    "slack-webhook": ("https://hooks.slack.com/services/T{U10}/B{U10}/{A24}",),
    "discord-webhook": ("https://discord.com/api/webhooks/{D18}/{W68}",),
    "teams-webhook": (
        f"https://acme.webhook.office.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{{H32}}/"
        f"{_UUID}",
    ),
    "feishu-webhook": (f"https://open.feishu.cn/open-apis/bot/v2/hook/{_UUID}",),
    "dingtalk-webhook": ("https://oapi.dingtalk.com/robot/send?access_token={H64}",),
    "wecom-webhook": (f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={_UUID}",),
    "zapier-webhook": ("https://hooks.zapier.com/hooks/catch/{D7}/{L7}",),
    "telegram-token": ("7{D9}:AA{W33}",),
    "matrix-token": ("syt_{A12}_{X20}_{A6}",),
    "twilio-key": ("SK{H32}",),
    "sendgrid-key": ("SG.{W22}.{W43}",),
    "mailgun-key": ("key-{H32}",),
    "mailchimp-key": ("{H32}-us14",),
    "brevo-key": ("xkeysib-{H64}-{A16}",),
    "resend-key": ("re_{A8}_{A24}",),
    "stripe-key": ("sk_live_{A24}", "rk_live_{A99}", "sk_test_{A99}"),
    "webhook-secret": ("whsec_{B32}",),
    "square-token": ("EAAA{W60}", "sq0csp-{W43}"),
    "braintree-token": ("access_token$production${L16}${H32}",),
    "shopify-token": ("shpat_{H32}", "shpss_{H32}"),
    "plaid-token": (f"access-production-{_UUID}",),
    "razorpay-key": ("rzp_live_{A14}",),
    "flutterwave-key": ("FLWSECK-{H32}-X",),
    "npm-token": ("npm_{A36}",),
    "pypi-token": ("pypi-AgEIcHlwaS5vcmc{W120}",),
    "rubygems-key": ("rubygems_{H48}",),
    "crates-token": ("cio{A32}",),
    "docker-token": ("dckr_pat_{W27}",),
    "nuget-key": ("oy2{L43}",),
    "artifactory-token": ("AKCp{A69}", "cmVmdGtu{A56}"),
    "clojars-token": ("CLOJARS_{L60}",),
    "packagist-token": ("packagist_out_{H68}",),
    "grafana-token": ("glsa_{A32}_{H8}", "glc_{A64}"),
    "sentry-token": ("sntryu_{H64}", "sntrys_eyJ{A90}"),
    "newrelic-key": ("NRAK-{U27}",),
    "dynatrace-token": ("dt0c01.{U24}.{U64}",),
    "posthog-key": ("phx_{A43}",),
    "logfire-token": ("pylf_v1_us_{A43}",),
    "linear-key": ("lin_api_{A40}",),
    "notion-token": ("ntn_{A46}", "secret_{A43}"),
    "airtable-token": ("pat{A14}.{H64}",),
    "hubspot-token": (f"pat-na1-{_UUID}",),
    "figma-token": ("figd_{W40}",),
    "postman-key": ("PMAK-{H24}-{H34}",),
    "dropbox-token": ("sl.{W136}",),
    "contentful-token": ("CFPAT-{W43}",),
    "facebook-token": ("EAAM{A150}",),
    "mapbox-token": ("sk.eyJ{A60}.{A22}",),
    "jwt": ("eyJ{A33}.eyJ{A90}.{W43}",),
}
"""By rule, the shapes of its tokens. A rule of two formats has a shape for each."""

ADDRESSED: dict[str, tuple[str, ...]] = {
    "url-password": ("postgres://app:{A20}@db.internal:5432/orders", "mongodb+srv://svc:{A16}@cluster0.mongodb.net/?retryWrites=true", "redis://:{A24}@cache:6379/0", "https://bob:{A14}9x@git.acme.dev/r.git"),
    "url-token": ("https://{A40}@git.acme.dev/team/r.git",),
    "azure-storage-key": ("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={B86}==;EndpointSuffix=core.windows.net",),
    "azure-shared-key": ("Endpoint=sb://acme.servicebus.windows.net/"
        ";SharedAccessKeyName=Root;SharedAccessKey={B43}=",),
    "azure-signature": ("https://acme.blob.core.windows.net/c/b?sv=2024-11-04&sig={A43}%3D&se=2026-01-01",),
    "bearer-token": ('curl -H "Authorization: Bearer {A40}" https://api.acme.dev/v1', "headers = {{'Authorization': 'Bearer {H40}'}}"),
    "netrc-password": ("machine api.acme.dev login bob password {A16}",),
    "password": ("DB_PASSWORD={A14}9z", 'password: "{A12}7q!"', "mysql --password {A16}4k -u root", "<password>{A15}3p</password>", "密码：{A14}5w", "Server=db;User Id=sa;Password={A14}6b;"),
    "assigned-secret": (
        "API_KEY={H32}", '{{"clientSecret": "{A40}"}}', "export AWS_SECRET_ACCESS_KEY={B36}9aB7", "jwt_secret: {A48}", 'token: str = "{A32}"', "deploy --api-token {A40} --wait",
        'const apiKey = "{A39}";', "SECRET_KEY_BASE={H128}", '<add key="ApiKey" value="{A32}" />', '"{{\\"access_token\\": \\"{A64}\\"}}"', "密钥是 {A32}", "The API key is {A32} for staging", "Secret key: {A40}", "X-Api-Key: {A40}",
    ),
}  # fmt: skip
"""By rule, whole lines that hold one secret: the hole."""

CONTEXTS = (
    "{}",
    "SETTING={}",
    '{{"setting": "{}", "other": 1}}',
    "export THE_SETTING='{}' && make deploy",
    "Use {} for the staging account, it is good until Friday.",
    'client = Client("{}", timeout=30)',
    "  value: {}  # rotate",
    '"text": "line one\\n{}\\nline three"',
    "请使用{}。",
)
"""Where a token of a known format stands."""


INNOCENT: dict[str, tuple[str, ...]] = {
    "commit": ("commit {H40}", "Merge {H7} into {H7}", "git checkout {H40}", "fixed in {H12}, see https://github.com/acme/app/commit/{H40}", "index {H10}..{H10} 100644", 'rev = "{H40}"'),
    "uuid": (_UUID, f'{{{{"id": "{_UUID}", "session": "{_UUID}"}}}}', f"request_id={_UUID}", f"token_id: {_UUID}", f"page_token={_UUID}", f"https://app.acme.dev/p/{_UUID}/edit"),
    "digest": ("sha256:{H64}", "{H64}  dist/app.tar.gz", "md5 = {H32}", 'etag: W/"{H32}"', "--hash=sha256:{H64}", "token: sha256:{H64}", "FROM python:3.12@sha256:{H64}", "password_hash = {H64}"),
    "integrity": ('"integrity": "sha512-{B86}=="', "h1:{B43}=", 'integrity="sha384-{B64}"', "github.com/acme/x v1.2.3 h1:{B43}=", 'checksum = "{H64}"'),
    "picture": ("data:image/png;base64,iVBORw0KGgo{B400}==", "![](data:image/svg+xml;base64,{B200})", '{{"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo{B300}"}}', "src: url(data:font/woff2;base64,{B300})"),
    "public key": ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} bob@laptop", "-----BEGIN PUBLIC KEY-----\n{B64}\n{B64}\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\n{B64}\n{B64}\n-----END CERTIFICATE-----", "pk_live_{A24}"),
    "placeholder": (
        "API_KEY=YOUR_API_KEY", "api_key: your-api-key-goes-here-1", "OPENAI_API_KEY=sk-...", "token: <your-token-here-123>", "GITHUB_TOKEN=ghp_{D0}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "export ANTHROPIC_API_KEY=sk-ant-api03-{D0}xxxxxxxxxxxxxxxxxxxxxxxxxxxx", "PASSWORD=${DB_PASSWORD}", "password: {{ vault_db_password_1 }}", "secret: ${{{{ secrets.DEPLOY_TOKEN_2 }}}}",
        "AWS_ACCESS_KEY_ID=AKIA{D0}IOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "password = ************", "postgres://user:password@localhost/db",
        "postgres://postgres:postgres@localhost:5432/test", "https://user:pass@example.com", "mysql://root:${MYSQL_ROOT_PASSWORD}@db/app", "Authorization: Bearer <token>", "Authorization: Bearer $API_TOKEN_2",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE1", "https://hooks.slack{D0}.com/services/T00000000/B00000000/"
            "XXXXXXXXXXXXXXXXXXXXXXXX", "SECRET_KEY=changeme-please-123456", "token=%(api_token_2)s",
        "api_key = 0123456789abcdef0123456789abcdef", "sk-{D0}1234567890abcdefghijklmnopqrstuvwxyz", "STRIPE_KEY=sk_test_{D0}xxxxxxxxxxxxxxxxxxxxxxxx", "password: [redacted: password]", "api_key=[REDACTED_SECRET]",
    ),
    "code": (
        "password = os.environ['DB_PASSWORD_2']", "token = process.env.GITHUB_TOKEN_V2", 'secret = os.getenv("APP_SECRET_1", "")', "const token = await getAccessToken2(user.id)", "self.token = settings.auth.token_v2",
        "def test_password_is_hashed_with_argon2id(self) -> None:", "if password != confirm_password2: raise ValueError", "token: Optional[str] = None", "max_tokens = 200000", "token_count: 128000, token_limit: 200000",
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased-v2')", "secret_name = 'prod/db/main-2f4a'", "const secretKeyRef = {{ name: 'db-creds-7f9c', key: 'password' }}", "password: str = Field(min_length=12)",
        "passwordInput.value = formState.password1", 'it("rejects a token that expired 3600s ago")', "api_key=api_key, base_url=self.base_url", "private_key = load_pem_private_key(data, password=None)",
        "  - secret: db-credentials-v3", "token = tokens[index + 1]", "const apiKey = config.get('services.maps.apiKey2')", 'token_url="https://auth.acme.dev/oauth2/v2.0/token"', "password = getpass.getpass('Password: ')",
        "access_token = response.json()['access_token']", "secret=args.client_secret_file2", "pwd=/home/bob/projects/app2/src", "credential = DefaultAzureCredential(managed_identity_client_id=None)",
    ),
    "path": ("/usr/lib/python3.12/site-packages/urllib3/util/ssl_match_hostname.py", "src/components/UserProfileSettings/index.test.tsx:120:33", "token: ./certs/2024/dev-token.json", "dist/assets/index-{A8}.js", "/nix/store/{L32}-openssl-3.0.13", "s3://acme-data/year=2024/month=10/part-00000-{H8}.parquet"),
    "identifier": (
        "arn:aws:iam::123456789012:role/deploy-production-application-role", "AbstractSingletonProxyFactoryBeanConfigurationTests2", "test_that_a_very_long_identifier_with_numbers_1234567890_is_not_a_secret", "i-{H17}", "subnet-{H17}",
        "claude-opus-4-20250514", "toolu_{A24}", "call_{A24}", "msg_{A24}", "resp_{H48}", "chatcmpl-{A29}", "gpt-4o-mini-2024-07-18", "task-sk-learn-pipeline-experiment", "acct_{A16}", "price_{A24}", "cus_{A14}", "pi_{A24}",
        "550e8400e29b41d4a716446655440000.local", "com.acme.platform.authentication.TokenRefreshInterceptor2", "0x{H40}", "traceparent: 00-{H32}-{H16}-01",
    ),
    "prose": (
        "The password is stored with argon2id and never logged.", "Set the token limit to 128000.", "Bearer authentication is used for all endpoints.", "The secret is in the vault under prod/db.", "Basic authentication is disabled in staging.",
        "Rotate the API key: see docs/runbooks/rotate-api-key-2024.md", "token: the access token that the client sends back", "Password must contain 8 characters, a digit and a symbol.", "密码不能为空，长度至少8位", "令牌过期时间为3600秒",
        "A JWT has three parts: header.payload.signature", "Keys begin with sk-ant- and GitHub's with ghp_ or github_pat_.", "The file starts with -----BEGIN PRIVATE KEY----- and ends with -----END "
            "PRIVATE KEY-----.",
    ),
}  # fmt: skip
"""By kind, lines that hold no secret."""


class Sample(Struct, frozen=True):
    """A text, and the secret in it; empty where there is none."""

    rule: str
    text: str
    secret: str = ""


class Chance:
    """Characters as if drawn at random, the same for the same seed everywhere."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = 0

    def bytes(self, size: int) -> bytes:
        """So many bytes."""
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}/{self._drawn}".encode()).digest(size)

    def draw(self, alphabet: str, size: int) -> str:
        """So many characters of an alphabet, at least one of them a digit if it has any."""
        size_of = len(alphabet)
        drawn = "".join(alphabet[byte % size_of] for byte in self.bytes(size))
        return (
            drawn
            if size < 8 or not set(alphabet) & set(digits) or any(map(str.isdigit, drawn))
            else drawn[:-1] + "7"
        )


def fill(shape: str, chance: Chance) -> tuple[str, str]:
    """A shape with its holes filled, and what its longest hole was filled with."""
    drawn: list[str] = []

    def draw(hole: re.Match[str]) -> str:
        alphabet, size = _ALPHABETS[hole[1]], int(hole[2])
        drawn.append(chance.draw(alphabet, size))
        return drawn[-1]

    text = _HOLE.sub(draw, shape).replace("{{", "{").replace("}}", "}")
    return text, max(drawn, key=len, default="")


def secrets(rounds: int = 3, seed: int = 1) -> Iterator[Sample]:
    """Each shape in each context, and each whole line, `rounds` times with other characters."""
    chance = Chance(seed)
    for _ in range(rounds):
        for rule, shapes in SHAPES.items():
            for shape in shapes:
                for context in CONTEXTS:
                    token, drawn = fill(shape, chance)
                    yield Sample(rule, context.format(token), drawn)
        for rule, lines in ADDRESSED.items():
            for line in lines:
                yield Sample(rule, *fill(line, chance))
        yield from _blocks(chance)


def _blocks(chance: Chance) -> Iterator[Sample]:
    for kind in ("RSA ", "EC ", "OPENSSH ", ""):
        body = base64.b64encode(chance.bytes(600)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        for line_end in ("\n", "\\n"):
            text = line_end.join(
                (f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----")
            )
            yield Sample("private-key", f'"private_key": "{text}"', lines[1])
    user = base64.b64encode(f"bob:{fill('{A14}', chance)[0]}".encode()).decode()
    yield Sample("basic-auth", f"Authorization: Basic {user}", user)
    password = fill("{A12}4k", chance)[0]
    yield Sample("basic-auth", f"curl -u bob:{password} https://api.acme.dev", password)
    token = fill("MT{A24}.{A6}.{W38}", chance)[0]
    yield Sample("discord-token", f'bot = discord.Client()\nbot.run("{token}")', token)


def innocent(seed: int = 2) -> Iterator[Sample]:
    """What looks like a secret and is none: digests, identifiers, pictures, placeholders, code,
    paths.
    """
    chance = Chance(seed)
    for kind, lines in INNOCENT.items():
        for line in lines:
            yield Sample(kind, fill(line, chance)[0])


OTHER = "detect-secrets"
SPEED_SIZE = 5_000_000
"""Characters of recorded sessions, or of the corpus, that the speed of ours is measured on; of the
other a twentieth of that.
"""

SPEED_GOAL = 30
"""Megabytes a second of one core. Our goal: a file of 1 MB may not be felt."""

Covered = Callable[[str], list[str]]
"""The parts of a text that a finder takes for secrets."""


def measure(data: Path) -> BenchResult:
    """Recall, false alarms and speed of each finder that is installed."""
    corpus, others = list(secrets()), list(innocent())
    text = _text(data)
    speed, plain = _speed(scan_with_memorist, text), _speed(_list_words, text)
    rows = [
        *_rows("memorist", scan_with_memorist, corpus, others),
        BenchRow(
            "memorist: speed, processor time",
            speed,
            "MB/s",
            f"at least {SPEED_GOAL}",
            speed >= SPEED_GOAL,
        ),
        BenchRow("memorist: its time, times that of listing the words with `re`", plain / speed),
    ]
    rows.append(
        BenchRow("memorist: findings in what speed is measured on", len(find_secrets(text)), "")
    )
    rows += _yardstick_rows()
    other = detect_secrets()
    if other is None:
        return BenchResult(
            "secrets",
            (*rows, BenchRow(f"{OTHER}: not installed, not measured (pip install {OTHER})", 0)),
        )
    rows += [
        *_rows(OTHER, other, corpus, others),
        BenchRow(
            f"{OTHER}: speed, processor time", _speed(other, text[: SPEED_SIZE // 20]), "MB/s"
        ),
    ]
    return BenchResult("secrets", tuple(rows))


UNREAL = (
    "(?:.|", r"[\s\S]", "(?s:", "generic-", "private-key", "curl-auth", "gcp-application", "gcp-service", "jwt", "mongodb-connection", "sidekiq-sensitive", "slack-webhook", "slack-session-cookie", "azure-storage", "aiven", "amplitude",
    "bitly", "cloudinary", "couchbase", "influxdb", "slack-config", "incoming-mail", "bedrock-api-key-short",
)  # fmt: skip
"""Rules of Betterleaks whose drawings are no secrets of any provider: their pattern takes any
character between two words, or holds a fixed text only.
"""


def part_of(name: str) -> str:
    """Which half a rule or a situation belongs to, by the first bit of its hash: rules were written
    while looking at the first, the second is what counts.
    """
    return ("looked at", "held out")[hashlib.sha256(name.encode()).digest()[0] & 1]


def draw_samples(library: Path | None, seed: int = 7) -> Iterator[tuple[str, str, str]]:
    """Set and half, text, secret: hard situations, and what is drawn from Betterleaks' rules where
    its library is there.
    """
    for situation, text, secret in draw_situations(SITUATIONS, seed, 2):
        yield f"hard situations, {part_of(situation)}", text, secret
    for situation, text, secret in draw_situations(MORE_SITUATIONS, seed, 4):
        yield f"further situations, {part_of(situation)}", text, secret
    for kind, rule, line, secret in draw_from_rules(library, seed) if library else ():
        if not any(sign in rule for sign in UNREAL):
            yield f"Betterleaks' rules, {kind}, {part_of(rule)}", line, secret


def _yardstick_rows() -> list[BenchRow]:
    """The share found of each set, ours and Betterleaks' own."""
    finders, library = {"memorist": scan_with_memorist}, None
    if importlib.util.find_spec("betterleaks"):
        betterleaks = importlib.import_module("betterleaks")
        library = Path(betterleaks.__file__ or "").parent / "libbetterleaks.so"
        finders["Betterleaks"] = lambda text: [
            value
            for one in betterleaks.scan_string(text)
            for value in (one.match.value, one.match.full)
            if value
        ]
    samples = list(draw_samples(library))
    rows: list[BenchRow] = []
    for name, finder in finders.items():
        hits: dict[str, list[bool]] = {}
        for kind, text, secret in samples:
            hits.setdefault(kind, []).append(_covers(secret, finder(text)))
        rows += [
            BenchRow(f"{name}: {kind}, of {len(found)}", sum(found) / len(found))
            for kind, found in sorted(hits.items())
        ]
    return rows


def _covers(secret: str, pieces: list[str]) -> bool:
    """Whether a piece holds the secret, half of it, or twenty characters of it; a key block counts
    by its first line.
    """
    return any(
        secret in piece
        or "PRIVATE KEY" in piece
        or (piece in secret and len(piece) >= min(len(secret) / 2, 20))
        for piece in pieces
    )


def scan_with_memorist(text: str) -> list[str]:
    """What memorist's rules cover."""
    return [text[finding.start : finding.end] for finding in find_secrets(text)]


def detect_secrets() -> Covered | None:
    """What the plugins of detect-secrets cover with its default settings; None when it is not
    installed.
    """
    if importlib.util.find_spec("detect_secrets") is None:
        return None
    scan = importlib.import_module("detect_secrets.core.scan")
    default_settings = importlib.import_module("detect_secrets.settings").default_settings

    def covered(text: str) -> list[str]:
        # As a file: for a bare line it looks for any word of high entropy, which nobody wants of a
        # file.
        with tempfile.TemporaryDirectory() as folder, default_settings():
            path = Path(folder) / "sample.txt"
            path.write_text(text, "utf-8")
            return [str(found.secret_value) for found in scan.scan_file(str(path))]

    return covered


def measure_secrets_recall(covered: Covered, corpus: Iterable[Sample]) -> float:
    """The share of samples of whose secret at least half is covered by one finding, or which a
    finding names by its header (a key block).
    """
    hit = [any(_is_hit(sample, piece) for piece in covered(sample.text)) for sample in corpus]
    return sum(hit) / len(hit)


def _is_hit(sample: Sample, piece: str) -> bool:
    if "PRIVATE KEY" in piece:
        return sample.rule == "private-key"
    return sample.secret in piece or (
        piece in sample.text and piece in sample.secret and len(piece) * 2 >= len(sample.secret)
    )


def _rows(
    name: str, covered: Covered, corpus: list[Sample], others: list[Sample]
) -> list[BenchRow]:
    wrong = sum(1 for sample in others if covered(sample.text))
    goal, false_goal = ("at least 0.99", "at most 0.01") if name == "memorist" else ("", "")
    found = measure_secrets_recall(covered, corpus)
    return [
        BenchRow(
            f"{name}: secrets found, of {len(corpus):,} in "
            f"{len({sample.rule for sample in corpus})} rules",
            found,
            "",
            goal,
            found >= 0.99 if goal else None,
        ),
        BenchRow(
            f"{name}: false alarms, of {len(others)} lines without a secret",
            wrong / len(others),
            "",
            false_goal,
            wrong / len(others) <= 0.01 if goal else None,
        ),
    ]


def _text(data: Path) -> str:
    """Recorded sessions as they lie on disk, or the corpus over and over."""
    parts: list[str] = []
    for path in all_sessions(data):
        parts.append(path.read_text("utf-8"))
        if sum(map(len, parts)) >= SPEED_SIZE:
            break
    text = "\n".join(parts) or "\n".join(sample.text for sample in innocent())
    return (text * (SPEED_SIZE // len(text) + 1))[:SPEED_SIZE]


def _list_words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _speed(covered: Covered, text: str) -> float:
    took: list[float] = []
    for _ in range(4):  # the first compiles patterns
        began = time.process_time()
        covered(text)
        took.append(time.process_time() - began)
    return len(text.encode()) / 1e6 / max(min(took), 1e-9)
