"""Formats of the tokens that providers give out, as one table of shapes.

Each format is a fact that its provider, or public scanners of secrets, state; the table is ours. A
shape is literal text with holes: `{A36}` stands for 36 letters or digits, `{A20-40}` for 20 to 40,
`{A36+}` for 36 or more. The letter names the characters of a hole:

A letters and digits, H hex digits in small letters, F hex digits, L small letters and digits, U
capitals and digits, W letters, digits, `-` and `_`, B the base64 alphabet, P the same with `-`, `_`
and `=`, T letters, digits and `_.=-`, Q letters, digits and `_.~-`, C those of P and commas, E
letters, digits and `%`, D digits, X letters, G (alone) a UUID.

A shape's longest literal part that is at a known place is what the text is searched for; the
pattern is tried only there. A last hole of a fixed size takes further characters of its class (but
not hex digits), since providers lengthen their tokens; `!` at the end of a shape forbids that. A
`~` at its start lets a token begin inside a word. A `?` at its start marks a short, common prefix:
what follows must look drawn at random. Where a shape has a `(`, only what follows it is secret; `␣`
stands for a space.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from msgspec import Struct

from memorist.core.lazy import lazy_pattern

EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2}))"
"""No letter or digit before: a token does not begin inside a word. The last letter of an escape
(`\\n`, `%3D`, `\\u003d`) is no letter.
"""

HOLE_CLASSES = {
    "A": "A-Za-z0-9",
    "H": "a-f0-9",
    "F": "A-Fa-f0-9",
    "L": "a-z0-9",
    "U": "A-Z0-9",
    "W": "A-Za-z0-9_-",
    "B": "A-Za-z0-9+/",
    "P": "A-Za-z0-9+/=_-",
    "T": "A-Za-z0-9_.=-",
    "Q": "A-Za-z0-9_.~-",
    "C": "A-Za-z0-9+/=,_-",
    "E": "A-Za-z0-9%",
    "D": "0-9",
    "X": "A-Za-z",
}
"""By the letter of a hole, its characters as a regular expression's class."""

_LONGEST = 2048
"""Characters that a hole without an end takes: the longest tokens, of clouds, have some 1,500."""
_UUID = r"[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}"
_HOLE = re.compile(r"\{(?:([AHFLUWBPTQCEDX])(\d+)(?:-(\d+)|(\+))?|(G))\}")

_TABLE = """
aws-access-key: AKIA{U16}! ASIA{U16}! ABIA{U16}! ACCA{U16}! A3T{U17}!
aws-bedrock-key: ABSK{B100+} bedrock-api-key-{P40+}
aws-signature: X-Amz-Signature=({H64} X-Amz-Security-Token=({E60+}
google-api-key: AIza{W35}
google-oauth-token: ya29.{W20+}
google-oauth-secret: GOCSPX-{W24+}
google-refresh-token: 1//0{W40+}
google-gemini-key: AQ.Ab8{W44+}
azure-storage-key: AccountKey=({B80+}
azure-shared-key: SharedAccessKey=({B32+}
azure-app-configuration: ;Secret=({B36+}
azure-signature: sig=({B43}%3D sig=({B43}= sig=(%{A43+}
azure-client-secret: {Q3}0Q~{Q31-34} {Q3}1Q~{Q31-34} {Q3}2Q~{Q31-34} {Q3}3Q~{Q31-34} {Q3}4Q~{Q31-34} {Q3}5Q~{Q31-34} {Q3}6Q~{Q31-34}
 {Q3}7Q~{Q31-34} {Q3}8Q~{Q31-34} {Q3}9Q~{Q31-34}
azure-devops-token: {A76}AZDO{A4}!
digitalocean-token: doo_v1_{H64} dop_v1_{H64} dor_v1_{H64}
alibaba-access-key: LTAI{A16-24}! ?STS.{A16-64}!
tencent-secret-id: AKID{A32}!
cloudflare-origin-key: v1.0-{H24}-{H146}
cloudflare-token: cfut_{A48} cfat_{A48} cfk_{A48}
heroku-token: HRKU-{W36+}
fly-token: fm1_{C40+} fm1a_{C40+} fm1r_{C40+} fm2_{C40+} fo1_{W40+} FlyV1␣{C80+}
netlify-token: nfp_{A36+}
vault-token: hvs.{W24+} hvb.{W24+} hvr.{W24+} ?s.{A24}!
terraform-token: {A14}.atlasv1.{P60+}
pulumi-token: pul-{H40}!
doppler-token: dp.pt.{A40+} dp.st.{A40+} dp.ct.{A40+} dp.sa.{A40+} dp.scim.{A40+} dp.audit.{A40+} dp.st.{W2-35}.{A40+}
onepassword-token: ops_eyJ{P200+} A3-{U6}-{U11}-{U5}-{U5}-{U5} A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}
age-key: AGE-SECRET-KEY-1{U58}
minisign-key: RWRTY0Iy{B60+}
databricks-token: dapi{H32}
planetscale-token: pscale_tkn_{T32+} pscale_pw_{T32+} pscale_oauth_{T32+}
supabase-key: sbp_{H40} sb_secret_{W20+} ?sbp_{W40}
neon-key: napi_{A60+}
tailscale-key: tskey-auth-{W20+} tskey-api-{W20+} tskey-client-{W20+} tskey-scim-{W20+} tskey-webhook-{W20+}
scaleway-key: SCW{U17}!
yandex-key: AQVN{W35-38} YCA{W37}
exoscale-key: EXO{A24-30}!
upcloud-token: ?ucat_{A24-32}
vercel-token: vck_{W56} vca_{W56} vcr_{W56} vci_{W56} vcp_{W56}
render-key: rnd_{A28}
openshift-token: sha256~{W43}
docker-swarm-key: SWMTKN-1-{L50-60}-{L24-30} SWMKEY-1-{B40-50}
cockroach-key: CCDB1_{A22}_{A40}
mongodb-atlas-secret: mdb_sa_sk_{W40}
datastax-token: AstraCS:{T20+}
clickhouse-key: ?4b1d{A38}!
elastic-key: essu_{P60+}
confluent-secret: cflt{B60}
github-token: ghp_{A36+} gho_{A36+} ghu_{A36+} ghs_{A36+} ghr_{A36+} github_pat_{A22}_{A59} github_pat_{W60+}
gitlab-token: glpat-{T20+} gldt-{T20+} glrt-{T20+} glrtr-{T20+} glcbt-{T20+} glptt-{T20+} glft-{T20+} glimt-{T20+} glagent-{T20+} gloas-{T20+}
 glsoat-{T20+} glffct-{T20+} glwt-{T20+} GR1348941{W20} _gitlab_session=({L32}
gitlab-mail-token: incoming+{T1-80}-{D1-12}-({W7-30}-issue incoming+{T1-80}-{D1-12}-({W7-30}-merge-request incoming+{D1-12}-({W7-30}-issue incoming+{D1-12}-({W7-30}-merge-request
bitbucket-token: ATBB{A24+} ATCTT3{T60+} BBDC-{P32+}
atlassian-token: ATATT3{T60+} ATAT{T100+}
sourcegraph-token: sgp_{F40} sgp_{F16}_{F40} sgp_local_{F40} slk_{H64} sgd_{H64}_{H64}
segment-token: sgp_{A64}
circleci-token: CCIPAT_{A20+}_{H40} CCIPRJ_{A20+}_{H40} CCIPAT_{A22}_{L40} CCIPRJ_{A22}_{L40}
buildkite-token: bkua_{L40} bkaa_{W60+} bkaj_{W60+} bkar_{W60+} bkct_{W60+} bkpt_{W60+} bkpat_{W50+} bkps_{W60+}
sonar-token: squ_{L40} sqp_{L40} sqa_{L40}
drone-token: ?drone_{A32+}
harness-token: pat.{W22}.{H24}.{A20} sat.{W22}.{H24}.{A20} pat.{W22}.{A24}.{A20}
octopus-key: ?API-{U26}!
codeclimate-token: ?ccr_{A40+}
mergify-key: mergify_application_key_{W40+}
deno-token: ddp_{A36} ddo_{A36}
val-town-token: ?vtwn_{W20+}
prefect-key: pnu_{A36} pnb_{A36}
aikido-token: AIK_CI_{A20+} AIK_SECRET_{A64} ?AIK_CLIENT_{A24}
endorlabs-key: endr+{W16}
snyk-token: snyk_uat.{H8}.{W60+} snyk_sat.{H8}.{W60+}
anthropic-key: sk-ant-{W24+}
openai-key: sk-proj-{W30+} sk-svcacct-{W30+} sk-admin-{W30+} sk-None-{W30+} sk-service-{W30+} sess-{A40}
openrouter-key: sk-or-v1-{H48+} sk-or-{H48+}
langfuse-key: sk-lf-{G} pk-lf-{G}
minimax-key: sk-api-{W100+}
model-key: sk-{A20+}
langsmith-key: lsv2_pt_{F32}_{F10} lsv2_sk_{F32}_{F10} ls__{H32}
huggingface-token: hf_{A30+} api_org_{A30+}
replicate-token: r8_{A37}
groq-key: gsk_{A40+}
xai-key: xai-{W60+}
perplexity-key: pplx-{A40+}
fireworks-key: ?fw_{A22+}
cerebras-key: csk-{L40+}
together-key: tgp_v1_{W40+}
tavily-key: tvly-{A28+} tvly-dev-{W28+} tvly-prod-{W28+}
nvidia-key: nvapi-{W60+}
pinecone-key: pcsk_{W50+}
jina-key: jina_{W50+}
e2b-key: e2b_{H40}
firecrawl-key: fc-{H32}!
elevenlabs-key: sk_{H48}!
cartesia-key: sk_car_{W20}
apify-token: apify_api_{A30+}
exa-key: ?exa_{A32+}
wandb-key: wandb_v1_{W70+}
llama-cloud-key: llx-{A40+}
runpod-key: ?rpa_{A30+}
voyage-key: ?pa-{W43}!
mem0-key: ?m0-{A24-44}!
devin-key: apk_user_{P100+} ?apk_{P80+} ?cog_{L52}
brave-key: ?BSA{W24-40}!
cursor-key: key_{H64}!
deepl-key: {G}:fx
slack-token: xoxa-{W20+} xoxb-{W16+} xoxc-{W20+} xoxe-{W20+} xoxo-{W16+} xoxp-{W20+} xoxr-{W8+} xoxs-{W16+} xoxd-{A60+} xoxd-{P60+} xoxa-{W10+}
 xoxe.xoxb-{W20+} xoxe.xoxp-{W20+} xapp-{D1}-{W20+}
slack-webhook: hooks.slack.com/(services/{P20+} hooks.slack.com/(workflows/{P20+} hooks.slack.com/(triggers/{P20+}
discord-webhook: com/api/webhooks/({D10-25}/{W50+}
teams-webhook: .webhook.office.com/(webhookb2/{W36}@{W36}/IncomingWebhook/{W30+} .webhook.office.com/(webhook/{W36}@{W36}/IncomingWebhook/{W30+}
feishu-webhook: /open-apis/bot/v2/hook/({G}
dingtalk-webhook: oapi.dingtalk.com/robot/send?access_token=({H40+}
wecom-webhook: qyapi.weixin.qq.com/cgi-bin/webhook/send?key=({G}
zapier-webhook: hooks.zapier.com/hooks/catch/({D4-12}/{L6+}
ifttt-webhook: maker.ifttt.com/trigger/{W1-60}/with/key/({W20+}
sentry-address: ?{H32}@sentry.io ?{H32}@o{D1-9}.ingest
telegram-token: ~{D8}:(AA{W32-33}! {D5}:(A{W34}!
matrix-token: syt_{A1-80}_{X20}_{A6}
twilio-key: SK{F32}! AC{H32}!
sendgrid-key: SG.{W16-24}.{W36+} SG.{T66}
mailgun-key: key-{F32}! pubkey-{F32}!
mailchimp-key: {H32}-us{D1-2}!
mailersend-token: mlsn.{A30+}
brevo-key: xkeysib-{F64}-{A16} xsmtpsib-{F64}-{A16}
resend-key: ?re_{A6-10}_{A20+}
onesignal-key: os_v2_app_{L80+} os_v2_org_{L80+}
telnyx-key: ?KEY{W55}!
notify-key: gcntfy-{W1-60}-{G}-{G}
stripe-key: sk_live_{A10+} sk_test_{A10+} sk_prod_{A10+} rk_live_{A10+} rk_test_{A10+} rk_prod_{A10+}
clerk-key: sk_live_a2V5{B20+} sk_live_{B40+}
webhook-secret: whsec_{B24+}
square-token: EAAA{W22-60}! EAAA{W56+} sq0csp-{W22+} sq0atp-{W22+} sq0idp-{W22+}
braintree-token: access_token$production${L16}${H32} access_token$sandbox${L16}${H32}
shopify-token: shpat_{F32} shpca_{F32} shppa_{F32} shpss_{F32} shptka_{F32}
plaid-token: access-sandbox-{G} access-development-{G} access-production-{G}
razorpay-key: rzp_live_{A14+} rzp_test_{A14+}
flutterwave-key: FLWSECK-{A12+} FLWSECK_TEST-{A12+} FLWPUBK_TEST-{A20+} FLWPUBK-{A20+}
asaas-token: $aact_prod_{W20+} $aact_hmlg_{W20+} $aact_{P60+}
paddle-key: pdl_live_apikey_{L26}_{A22}_{A3} pdl_sdbx_apikey_{L26}_{A22}_{A3}
polar-token: polar_at_{W20+} polar_oat_{W20+} polar_pat_{W20+}
ramp-secret: ramp_sec_{A40+} ramp_id_{A40+}
xendit-key: xnd_production_{A40+} xnd_development_{A40+}
mercury-token: mercury_production_{X3-6}_{A40+}
midtrans-key: Mid-server-{W10+} Mid-client-{W10+}
gocardless-token: ?live_{P40}!
lob-key: live_{H35}! test_{H35}! live_pub_{H31}! test_pub_{H31}!
checkout-key: sk_{G} sk_test_{G} sk_sbox_{L20+}
woocommerce-key: cs_{H40}! ck_{H40}!
ebay-secret: PRD-{H8}-{H4}-{H4}-{H4}-{H4-12} -PRD-{H8-12}-{H8-12} SBX-{H8}-{H4}-{H4}-{H4}-{H4-12}
duffel-token: duffel_test_{P43} duffel_live_{P43} duffel_test_{T43} duffel_live_{T43}
easypost-key: EZAK{A54}! EZTK{A54}!
shippo-token: shippo_live_{F40} shippo_test_{F40}
persona-key: persona_production_{W20+} persona_sandbox_{W20+}
onfido-token: ?api_live.{W20+} ?api_live_ca.{W20+} ?api_live_us.{W20+} ?api_sandbox.{W20+}
facebook-token: EAA{A100+} {D15}|{W27-40} {D16}|{W27-40} {D15}%{W27-40} {D16}%{W27-40}
pinterest-token: pina_{W20+}
salesforce-token: 00{A13}!{T80+}
npm-token: npm_{A36}
pypi-token: pypi-AgE{W50+}
rubygems-key: rubygems_{H48}
crates-token: ?cio{A32}!
docker-token: dckr_pat_{W24+} dckr_oat_{W24+}
nuget-key: ?oy2{L43}!
artifactory-token: AKCp{A60+} cmVmd{A59} cmVmdGtu{A50+}
clojars-token: CLOJARS_{A60}
packagist-token: packagist_out_{H60+} packagist_ort_{H60+} packagist_uut_{H60+} packagist_urt_{H60+}
cloudsmith-key: csa_{A36}
grafana-token: glc_{B32+} glsa_{A32}_{F8} eyJrIjoi{B40+}
sentry-token: sntrys_eyJ{P60+} sntryu_{H64} sntrya_{H64}
newrelic-key: NRAK-{A27} NRII-{W32} NRJS-{H19} NRRA-{H42} NRAA-{H27}
dynatrace-token: dt0c01.{A24}.{A64} dt0s16.{A8}.{A64} dt0s01.{A8}.{A64}
posthog-key: phx_{W40+} ?phc_{W41+}
honeycomb-key: hcaik_{L58} hcbik_{L58} hcalk_{L58} hcamk_{L58}
logfire-token: pylf_v1_us_{A40+} pylf_v1_eu_{A40+} pylf_v2_us_{A40+} pylf_v2_eu_{A40+}
rootly-key: rootly_{H64}
zuplo-key: zpka_{L32}_{H8}
linear-key: lin_api_{A40+} lin_oauth_{A40+}
notion-token: ntn_{A40+} secret_{A43}!
airtable-token: pat{A14}.{H64}
hubspot-token: pat-na1-{G} pat-na2-{G} pat-na3-{G} pat-eu1-{G} pat-ap1-{G}
figma-token: figd_{W38+}
postman-key: PMAK-{F24}-{F34}
dropbox-token: sl.{P130+} sl.u.{P100+}
contentful-token: CFPAT-{W43}
mapbox-token: sk.eyJ{W20+}.{W20+} ?pk.{A60}.{A22}
miro-token: eyJtaXJv{W10-64}_{W20+}
readme-token: rdme_{L70} rdme_xn8s9{H60+}
scalingo-token: tk-us-{W48}
typeform-token: tfp_{T40+}
frameio-token: fio-u-{P64}
infracost-key: ico-{A32}!
adobe-secret: p8e-{A32}!
canva-secret: cnvca{W51}
intra42-secret: s-s4t2ud-{F64} s-s4t2af-{F64}
configcat-key: configcat-sdk-1/{W22}/{W22}
launchdarkly-key: sdk-{G} api-{G}
devcycle-key: dvc_server_{W8+} dvc_client_{W8+} dvc_mobile_{W8+}
defined-networking-token: dnkey-{P26}-{P52}
lichess-token: ?lip_{W16+}
ionic-token: ?ion_{A42}
maxmind-key: {A6}_{A29}_mmk
nylas-key: nyk_{A60+}
samsara-token: samsara_api_{A26+}
settlemint-token: sm_aat_{A16} sm_pat_{A16} sm_sat_{A16}
thunderstore-token: ?tss_{W20+}
unkey-key: ?unkey_{A20+}
proof-key: ?prf_{W20+} ?prf_cli_{W20+}
wakatime-key: waka_{L36+} waka_{G}
workato-token: wrka-eyJ{T40+} wrka{X2}-eyJ{T40+}
workos-key: sk_live_a2V5Xz{B60+} sk_test_a2V5Xz{B60+}
redirect-pizza-token: ?rpa_{A30}
tableau-token: {B22}==:{A32}
authress-key: .acc_{W10-32}.{P30+} .acc-{W10-32}.{P30+}
highnote-key: sk_live_a2V5Xz{P60+}
zoho-token: 1000.{H32}.{H32} 1001.{H32}.{H32}
password-hash: $2a${D2}${T53} $2b${D2}${T53} $2y${D2}${T53} $argon2id$v={D2}$m={D1-9},t={D1-3},p={D1-3}${B11+}${B22+} $6${T1-40}$({T86} $5${T1-40}$({T43}
 $y${T1-8}${T1-90}${T43} $apr1${T1-8}$({T22} {SSHA}{B24+}
private-key: LS0tLS1CRUdJTi{B200+}
"""


class SecretTokenFormat(Struct, frozen=True):
    """One shape of a provider's token.

    Attributes:
        name: The rule, as it is in a mark: `github-token`.
        hint: The literal text that the search looks for.
        back: How many characters the shape begins before its hint.
        pattern: The shape, to be matched at its beginning; its group 1, where it has one, is the
            secret.
        weak: The prefix is short and common: what follows it must look drawn at random.
    """

    name: str
    hint: str
    back: int
    pattern: re.Pattern[str]
    weak: bool


@cache
def load_secret_token_formats() -> tuple[SecretTokenFormat, ...]:
    """Every shape of the table, in its order."""
    return tuple(_format(name, shape) for name, shape in list_token_shapes_with_rules())


def list_token_shapes_with_rules() -> Iterator[tuple[str, str]]:
    """The table as pairs of a rule's name and one shape."""
    name = ""
    for line in _TABLE.strip().splitlines():
        heading, _, shapes = ("", "", line) if line.startswith(" ") else line.partition(": ")
        name = heading or name
        yield from ((name, shape) for shape in shapes.split())


def has_valid_token_checksum(token: str) -> bool:
    """Whether a token of GitHub or npm carries its right checksum: it is real then, whatever it
    looks like.

    Their last six characters are the CRC-32 of the thirty before, in base 62 (GitHub's announcement
    of its formats, 2021). Tokens without a right one count as well: other issuers of the same shape
    need not follow it.
    """
    body = token[4:]
    if len(body) != 36 or token[:4] not in {"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"}:
        return False
    number, shown = zlib.crc32(body[:30].encode()), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        shown = (digits + ascii_uppercase + ascii_lowercase)[rest] + shown
    return shown == body[30:]


def _format(name: str, shape: str) -> SecretTokenFormat:
    weak, exact = shape.startswith("?"), shape.endswith("!")
    inside = shape.startswith("~")
    bare = shape.removeprefix("?").removeprefix("~").removesuffix("!")
    hint, back = _hint(bare)
    end = f"(?![{HOLE_CLASSES['A']}])" if exact else ""
    edge = EDGE if not inside and bare[0] in ascii_letters + digits + "{" else ""
    return SecretTokenFormat(
        name,
        hint,
        back,
        lazy_pattern(f"{edge}{build_token_shape_pattern(bare, open_end=not exact)}{end}"),
        weak,
    )


def _hint(shape: str) -> tuple[str, int]:
    """The longest literal part at a known place, and where that is; of equals the first."""
    at, best, best_at, done = 0, "", 0, 0
    for hole in [*_HOLE.finditer(shape), None]:
        literal = (
            (shape[done : hole.start()] if hole else shape[done:])
            .replace("(", "")
            .replace("␣", " ")
        )
        if len(literal) > len(best) * (not best.isdigit()):
            best, best_at = literal, at
        if hole is None or (size := _fixed_size(hole)) is None:
            break
        at += len(literal) + size
        done = hole.end()
    return best, best_at


def _fixed_size(hole: re.Match[str]) -> int | None:
    if hole[5]:
        return 36
    return None if hole[3] or hole[4] else int(hole[2])


def build_token_shape_pattern(shape: str, *, open_end: bool) -> str:
    """The regular expression of a shape. With an open end a last hole of a fixed size takes more
    characters of its class.
    """
    parts: list[str] = []
    done = 0
    grouped = "(" in shape
    for hole in _HOLE.finditer(shape):
        parts.append(_escaped(shape[done : hole.start()]))
        done = hole.end()
        parts.append(_hole_pattern(hole, last=open_end and done == len(shape)))
    parts.append(_escaped(shape[done:]))
    return "".join(parts) + (")" if grouped else "")


def _escaped(literal: str) -> str:
    before, opening, after = literal.partition("(")
    return (f"{re.escape(before)}({re.escape(after)}" if opening else re.escape(literal)).replace(
        "␣", " "
    )


def _hole_pattern(hole: re.Match[str], *, last: bool) -> str:
    if hole[5]:
        return _UUID
    letters, low = f"[{HOLE_CLASSES[hole[1]]}]", hole[2]
    padding = "={0,2}" if last and hole[1] == "B" else ""
    if hole[4] or (last and not hole[3] and hole[1] not in "HF"):
        return f"{letters}{{{low},{_LONGEST}}}+{padding}" if last else f"{letters}{{{low},400}}"
    return f"{letters}{{{low},{hole[3] or low}}}{padding}"
