"""Providers whose keys have no mark of their own, only a shape, and are known by the provider's
name beside them: `DATADOG_API_KEY=…`.

One line of the table: the names under which a provider is in keys, and the shapes of its
values, in the notation of `secret_token_formats`. A `*` before the names marks a common word, or a
provider whose shape is that of a commit or a digest: the key must then name a credential as well
(`linear_client_secret`, and not `linear`).
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.safety.secret_token_formats import build_token_shape_pattern

_TABLE = """
abuseipdb: {F80}
adafruit: {W32} aio_{A28}
adobe: {F32} p8e-{A32}
aiven: {P372}
airtable: {A17} {A6-40}.v1.{W6-200}.{F16-200}
algolia: {A32} {A10}
alibaba aliyun: {A30} {A30-64} CAIS{P20+}
amplitude: {F32}
*apollo: {W22}
asana: {D16} {A32} {D1}/{D16}:{A32}
assemblyai: {A32}
auth0: {W32-128}
*aws: {P40}
azure: {B86}== {B43}= {A32} {A52} {A84}
*beamer: b_{P44}
bitbucket: {A32} {P64} {A20}
*bitly: {F40}
bitrise: {W60-120}
bittrex: {A32}
*box_ box- boxt boxk boxa: {A32}
browserstack: {A20}
*checkout: sk_{G}
circleci: {F40}
civo: {A50}
*clerk: sk_test_{A32} sk_live_{A32}
clickup: pk_{D8-9}_{A32}
cloudflare: {W40} {F37}
cloudinary: {A27} {A32} {D15}
codecov: {G} {A32} {W36}
cohere co_api_key: {A40}
coinbase: {W64} {A16} {A32}
configcat: {W22}/{W22}
confluent: {A16} {A64} {B64}
contentful: {P43}
couchbase capella: {B60-120}
coveralls: {W37}
crates: cio{A32}
databento: db-{A29}
datadog dd_api dd_app: {A32} {W40}
data.gov datagov: {A40}
deepgram: {F40}
deepseek: sk-{F32}
discord: {F64} {D18} {P32} {D17-20}
disqus: {A64}
droneci drone_token: {A32}
dropbox: {A15} {A11}AAAAAAAAAA{P43} sl.{P135}
ebay: PRD-{F8}-{F4}-{F4}-{F4}-{F4-12}
endorlabs endor: endr+{W16}
etsy: {A24}:{A10-64} {A24}
exoscale: {W40-60}
facebook: {F32}
falai fal_ai fal-ai fal_key fal-key: {G}:{F32}
*fastly: {W32}
figma: {F4}-{F8}-{F4}-{F4}-{F4}-{F12} {G}
finicity: {F32} {A20}
finnhub: {A20}
flickr: {A32} {A16}
freshbooks: {A64}
freemius: sk_{T29}
fullstory fs_api: na1.{P20+} eu1.{P20+}
*gitea: {F40}
gitter: {W40}
gocardless: live_{P40}
greptile: {B48}
gumroad: {F64} {W43}
heroku: {G}
highnote: sk_live_a2V5Xz{B69}
honeycomb: {F32} {A22}
hubspot: {G}
*hunter: {F40}
*ibm ibmcloud bluemix bx_: {W42-44}
influx: {P88+}
infomaniak: {W60-100}
*instantly: {B66}==
intercom: {P60}
jumpcloud: {A40}
kagi: {W11}.{W43}
kimi moonshot: sk-{W48}
klaviyo: pk_{A34}
*kraken: {P80-90}
kucoin: {F24} {G}
*lark larksuite: {A32}
launchdarkly: {P40} {G}
lighton *paradigm: {W40-80}
*linear: {F32}
linkedin linked-in linked_in: {A14} {A16}
*lob: live_{F35} test_{F35} live_pub_{F31} test_pub_{F31}
*looker: {A20} {A24}
mailchimp: {F32}-us{D1-2}
mailgun: key-{F32} pubkey-{F32} {A32}-{A8}-{A8} {F32}
mapbox: pk.{A60}.{A22}
mattermost: {A26}
meraki: {F40}
messagebird message-bird message_bird: {A25} {G}
midtrans: Mid-server-{W10-20} Mid-client-{W10-20}
*miro: {A32} {D15-21}
mistral: {A32}
*monday: eyJ{T60+}
*mux: {B75} {G}
netlify: {P40-46}
new-relic newrelic new_relic: NRJS-{F19} NRII-{W32} {A64} NRAK-{A27} {F40}
ngrok: 2{A26}_{A21} {A49}
nytimes new-york-times newyorktimes: {P32}
okta: 00{P40}
ollama: {F32}.{W24}
openweather pyowm: {A32}
opsgenie: {G}
*ovh app_key app_secret appsecret application_key application_secret consumer_key: {W16} {W32}
pagerduty: u+{P18} u+{W18} {P20}
paypal: {T78-120} {W80}
pinecone: {G}
plaid: access-sandbox-{G} access-development-{G} access-production-{G} {A24} {A30}
plivo: {W40} MA{U18}
*poly polymarket: {G} 0x{F64} {B40-88}
postmark: {G}
privateai private_ai private-ai: {A32}
rainforest: apikey_{F64}
rapidapi: {W50}
razorpay: {A24}
retell: key_{F28}
scaleway *scw: {G}
sendbird: {G} {F40}
sentry: {F64} {F32}
sidekiq contribsys: {F8}:{F8}
snowflake sf_token: {W100-500}
snyk: {G}
sonar: {P40} squ_{P40} sqp_{P40} sqa_{P40}
squarespace: {G}
sslmate: {A36}
*stability: sk-{A48}
sumologic *sumo: su{A12} {A64}
tableau: {B22}==:{A32}
telegr: {D5-16}:A{W34}
telnyx: KEY{W55}
travis: {A22}
twilio: {F32} SK{F32}
twitch: {A30}
twitter: {A45} {D15-25}-{A20-40} {A25} {A50} {E80-160}
upstage: {A40-50}
upstash: {A32-48} {P36-110}
*vault: s.{A24} {G}
vercel: {A24}
virustotal: {F64}
*voyage: pa-{W43} al-{W43}
vultr: {A36}
wakatime waka_time: {G} waka_{G}
wandb weightsandbiases: {F40}
weatherstack: {A32}
wiz_ wiz-: {A53-56} {A64}
woocommerce: cs_{F40} ck_{F40}
*woo_ woo-: cs_{F40}
yandex: t1.{T1-400}.{P86-90} AQVN{W35-38} YC{W38}
*zai z_ai z.ai *glm: {F32}.{A16}
zendesk: {A40}
zoho: 1000.{A30} {F42} 1000.{F32}.{F32} 1001.{F32}.{F32} 1003.{F32-64}
"""
CREDENTIAL = lazy_pattern(
    r"key|token|secret|pass|auth|api|client|app|sdk|login|credential|cred|license|\bpat\b|_pat\b|access|private|bearer|sign|account|jwt",
    re.IGNORECASE,
)
"""A word for a credential in a key. Wide on purpose: the value's shape must fit as well."""
NOT_CREDENTIAL = lazy_pattern(
    r"sha\d*\b|hash|commit|digest|checksum|revision|\brev\b|etag|guild|channel|uuid|fingerprint|thumbprint|md5|integrity|nonce|\bref\b|\bsalt\b",
    re.IGNORECASE,
)
"""A word in a key that says that its value is an identifier or a digest."""


class NamedSecretProvider(Struct, frozen=True):
    """Values known by a name beside them. `is_common_word`: the name alone says too little."""

    name: str
    is_common_word: bool
    value: re.Pattern[str]


@cache
def load_named_providers() -> dict[str, NamedSecretProvider]:
    """By the name to look for, in small letters."""
    found: dict[str, NamedSecretProvider] = {}
    for line in _TABLE.strip().splitlines():
        names, _, shapes = line.partition(": ")
        value = lazy_pattern(
            "|".join(
                f"(?:{build_token_shape_pattern(shape, open_end=False)})"
                for shape in shapes.split()
            )
        )
        common = names.startswith("*")
        first = names.split()[0].strip("*_-.")
        for name in names.split():
            found[name.strip("*")] = NamedSecretProvider(
                f"{first.replace('_', '-').replace('.', '-')}-key",
                common or name.startswith("*"),
                value,
            )
    return found
