"""Formats of the tokens that providers issue. Each is a documented fact (by the provider or public
secret scanners); the patterns are memorist's own.

A format is searched by its hints, literal texts of which one occurs in each token, and the pattern
is tried only there: a long text costs one fast search per hint. A pattern is matched `lookback`
characters before the hint, and never inside a word. When a pattern has a group, only the group is
secret. Every repetition without an upper bound ends where its own class of characters ends, so that
no text is read over and over.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import NamedTuple

from memorist.core.lazy import lazy_pattern

EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""No letter or digit before: a token does not begin inside a word. An escaped line end (`\\n` in
JSON) is no letter.
"""
END = r"(?![A-Za-z0-9])"
_W = r"[A-Za-z0-9_-]"
_A = r"[A-Za-z0-9]"
_H = r"[a-f0-9]"
_U = rf"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"


class TokenFormat(NamedTuple):
    """One kind of token."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    lookback: int = 0


def _token_format(name: str, hints: str, pattern: str, back: int = 0) -> TokenFormat:
    return TokenFormat(
        name,
        tuple(hints.split()),
        lazy_pattern(("" if pattern.startswith("(?<=") else EDGE) + pattern),
        back,
    )


CLOUDS = (
    _token_format(
        "aws-access-key", "AKIA ASIA ABIA ACCA", rf"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{END}"
    ),
    _token_format(
        "aws-bedrock-key",
        "ABSK bedrock-api-key-",
        rf"(?:ABSK[A-Za-z0-9+/]{{100,}}={{0,2}}|bedrock-api-key-{_A}{{40,}}={{0,2}})",
    ),
    _token_format("google-api-key", "AIza", rf"AIza{_W}{{35}}(?!{_W})"),
    _token_format("google-oauth-token", "ya29.", rf"ya29\.{_W}{{20,}}"),
    _token_format("google-oauth-secret", "GOCSPX-", rf"GOCSPX-{_W}{{24,}}"),
    _token_format("google-refresh-token", "1//0", rf"1//0{_W}{{40,}}"),
    _token_format("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{80,}={0,2})"),
    _token_format(
        "azure-shared-key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{40,}={0,2})"
    ),
    _token_format("azure-signature", "sig=", r"sig=([A-Za-z0-9%+/]{43,200}(?:%3D|=))"),
    _token_format(
        "azure-client-secret",
        "Q~",
        r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        4,
    ),
    _token_format("azure-devops-token", "AZDO", rf"{_A}{{76}}AZDO{_A}{{4}}{END}", 76),
    _token_format("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", rf"do[opr]_v1_{_H}{{64}}"),
    _token_format("alibaba-access-key", "LTAI", rf"LTAI{_A}{{16,20}}{END}"),
    _token_format("tencent-secret-id", "AKID", rf"AKID{_A}{{32}}{END}"),
    _token_format("cloudflare-origin-key", "v1.0-", rf"v1\.0-{_H}{{24}}-{_H}{{146}}"),
    _token_format("heroku-token", "HRKU-", rf"HRKU-{_W}{{36,}}"),
    _token_format(
        "fly-token",
        "fm1_ fm1a_ fm1r_ fm2_ fo1_",
        rf"f(?:m\d[ar]?_[A-Za-z0-9+/=,_-]{{40,}}|o1_{_W}{{40,}})",
    ),
    _token_format("netlify-token", "nfp_", rf"nfp_{_A}{{36,}}"),
    _token_format("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_W}{{24,}}"),
    _token_format(
        "terraform-token", ".atlasv1.", rf"{_A}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}", 14
    ),
    _token_format("pulumi-token", "pul-", rf"pul-{_H}{{40}}{END}"),
    _token_format(
        "doppler-token",
        "dp.",
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}",
    ),
    _token_format("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,2}"),
    _token_format("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _token_format("databricks-token", "dapi", rf"dapi{_H}{{32}}(?:-\d)?{END}"),
    _token_format("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,}"),
    _token_format("supabase-key", "sbp_ sb_secret_", rf"(?:sbp_{_H}{{40}}|sb_secret_{_W}{{20,}})"),
    _token_format("neon-key", "napi_", rf"napi_{_A}{{60,}}"),
    _token_format("tailscale-key", "tskey-", rf"tskey-[a-z]{{2,12}}-{_A}{{6,}}(?:-{_A}{{10,}})?"),
)

CODE_HOSTS = (
    _token_format("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_A}{{36,}}"),
    _token_format("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{60,}"),
    _token_format(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}",
    ),
    _token_format(
        "bitbucket-token", "ATBB ATCTT3", rf"(?:ATBB{_A}{{24,}}|ATCTT3[A-Za-z0-9_=-]{{60,}})"
    ),
    _token_format("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    _token_format("sourcegraph-token", "sgp_", rf"sgp_(?:{_H}{{16}}_|local_)?{_H}{{40}}"),
    _token_format("circleci-token", "CCIPAT_ CCIPRJ_", rf"CCIP(?:AT|RJ)_{_A}{{20,}}_{_H}{{40}}"),
    _token_format("buildkite-token", "bkua_", rf"bkua_{_H}{{40}}"),
    _token_format("sonar-token", "sqa_ sqp_ squ_", rf"sq[apu]_{_H}{{40}}"),
)

MODEL_PROVIDERS = (
    _token_format("anthropic-key", "sk-ant-", rf"sk-ant-{_W}{{24,}}"),
    _token_format(
        "openai-key",
        "sk-proj- sk-svcacct- sk-admin- sk-None-",
        rf"sk-(?:proj|svcacct|admin|None)-{_W}{{30,}}",
    ),
    _token_format("openrouter-key", "sk-or-", rf"sk-or-(?:v1-)?{_H}{{48,}}"),
    _token_format("langfuse-key", "sk-lf-", rf"sk-lf-{_U}"),
    _token_format("model-key", "sk-", rf"sk-{_A}{{20,}}"),
    _token_format("langsmith-key", "lsv2_", rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    _token_format("huggingface-token", "hf_ api_org_", rf"(?:hf_|api_org_){_A}{{34,}}"),
    _token_format("replicate-token", "r8_", rf"r8_{_A}{{37,}}"),
    _token_format("groq-key", "gsk_", rf"gsk_{_A}{{40,}}"),
    _token_format("xai-key", "xai-", rf"xai-{_A}{{60,}}"),
    _token_format("perplexity-key", "pplx-", rf"pplx-{_A}{{40,}}"),
    _token_format("fireworks-key", "fw_", rf"fw_{_A}{{22,}}"),
    _token_format("cerebras-key", "csk-", rf"csk-{_A}{{40,}}"),
    _token_format("tavily-key", "tvly-", rf"tvly-(?:dev-|prod-)?{_A}{{28,}}"),
    _token_format("nvidia-key", "nvapi-", rf"nvapi-{_W}{{60,}}"),
    _token_format("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    _token_format("jina-key", "jina_", rf"jina_{_W}{{50,}}"),
    _token_format("e2b-key", "e2b_", rf"e2b_{_H}{{40}}"),
    _token_format("firecrawl-key", "fc-", rf"fc-{_H}{{32}}{END}"),
    _token_format("elevenlabs-key", "sk_", rf"sk_{_H}{{48}}{END}"),
    _token_format("apify-token", "apify_api_", rf"apify_api_{_A}{{36,}}"),
)

CHATS_AND_MAIL = (
    _token_format(
        "slack-token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox",
        r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,}",
    ),
    _token_format("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _token_format(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,})",
    ),
    _token_format(
        "discord-webhook", "/api/webhooks/", rf"(?<=com)/api/webhooks/(\d{{10,25}}/{_W}{{50,}})"
    ),
    _token_format(
        "teams-webhook",
        ".webhook.office.com/",
        r"(?<=[a-z0-9])\.webhook\.office\.com/([A-Za-z0-9/@_-]{40,})",
    ),
    _token_format(
        "feishu-webhook", "/open-apis/bot/v2/hook/", rf"(?<=[a-z])/open-apis/bot/v2/hook/({_U})"
    ),
    _token_format(
        "dingtalk-webhook",
        "oapi.dingtalk.com/robot/send?",
        rf"oapi\.dingtalk\.com/robot/send\?access_token=({_H}{{40,}})",
    ),
    _token_format(
        "wecom-webhook",
        "qyapi.weixin.qq.com/cgi-bin/webhook/",
        rf"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=({_U})",
    ),
    _token_format(
        "zapier-webhook",
        "hooks.zapier.com/hooks/catch/",
        r"hooks\.zapier\.com/hooks/catch/(\d{4,12}/\w{6,})",
    ),
    _token_format("telegram-token", ":AA", rf"(?<=\d{{8}}):(AA{_W}{{32,33}})(?!{_W})"),
    _token_format("matrix-token", "syt_", rf"syt_{_A}{{1,80}}_[A-Za-z]{{20}}_{_A}{{6}}"),
    _token_format("twilio-key", "SK", rf"SK{_H}{{32}}{END}"),
    _token_format("sendgrid-key", "SG.", rf"SG\.{_W}{{16,24}}\.{_W}{{36,}}"),
    _token_format("mailgun-key", "key-", rf"key-{_H}{{32}}{END}"),
    _token_format("mailchimp-key", "-us", rf"{_H}{{32}}-us\d{{1,2}}{END}", 32),
    _token_format("brevo-key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{_H}{{64}}-{_A}{{16}}"),
    _token_format("resend-key", "re_", rf"re_{_A}{{6,10}}_{_A}{{20,}}"),
)

PAYMENT_AND_SHOPS = (
    _token_format(
        "stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"[sr]k_(?:live|test)_{_A}{{16,}}"
    ),
    _token_format("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _token_format(
        "square-token", "EAAA sq0csp- sq0atp-", rf"(?:EAAA{_W}{{56,}}|sq0(?:csp|atp)-{_W}{{22,}})"
    ),
    _token_format(
        "braintree-token",
        "access_token$",
        rf"access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_H}{{32}}",
    ),
    _token_format(
        "shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"
    ),
    _token_format(
        "plaid-token",
        "access-sandbox- access-development- access-production-",
        rf"access-(?:sandbox|development|production)-{_U}",
    ),
    _token_format("razorpay-key", "rzp_live_ rzp_test_", rf"rzp_(?:live|test)_{_A}{{14,}}"),
    _token_format("flutterwave-key", "FLWSECK", rf"FLWSECK(?:_TEST)?-{_A}{{12,}}(?:-X)?"),
)

REGISTRIES = (
    _token_format("npm-token", "npm_", rf"npm_{_A}{{36}}{END}"),
    _token_format("pypi-token", "pypi-AgE", rf"pypi-AgE{_W}{{50,}}"),
    _token_format("rubygems-key", "rubygems_", rf"rubygems_{_H}{{48}}"),
    _token_format("crates-token", "cio", rf"cio{_A}{{32}}{END}"),
    _token_format("docker-token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_W}{{24,}}"),
    _token_format("nuget-key", "oy2", rf"oy2[a-z0-9]{{43}}{END}"),
    _token_format(
        "artifactory-token", "AKCp cmVmdGtu", rf"(?:AKCp{_A}{{60,}}|cmVmdGtu{_A}{{50,}})"
    ),
    _token_format("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    _token_format("packagist-token", "packagist_", rf"packagist_[ou][ru]t_{_H}{{60,}}"),
)

DEVELOPER_TOOLS = (
    _token_format(
        "grafana-token",
        "glc_ glsa_",
        rf"(?:glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|glsa_{_A}{{32}}_[A-Fa-f0-9]{{8}})",
    ),
    _token_format(
        "sentry-token",
        "sntrys_ sntryu_",
        rf"(?:sntrys_eyJ[A-Za-z0-9+/=_]{{60,}}|sntryu_{_H}{{64}})",
    ),
    _token_format(
        "newrelic-key", "NRAK- NRII- NRJS-", rf"NR(?:AK-[A-Z0-9]{{27}}|II-{_W}{{32}}|JS-{_H}{{19}})"
    ),
    _token_format(
        "dynatrace-token", "dt0c01. dt0s16.", r"dt0[cs]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"
    ),
    _token_format("posthog-key", "phx_", rf"phx_{_A}{{40,}}"),
    _token_format("logfire-token", "pylf_v", rf"pylf_v\d_[a-z]{{2}}_{_A}{{40,}}"),
    _token_format("linear-key", "lin_api_ lin_oauth_", rf"lin_(?:api|oauth)_{_A}{{40,}}"),
    _token_format("notion-token", "ntn_ secret_", rf"(?:ntn_{_A}{{40,}}|secret_{_A}{{43}}{END})"),
    _token_format("airtable-token", "pat", rf"pat{_A}{{14}}\.{_H}{{64}}"),
    _token_format("hubspot-token", "pat-na pat-eu", rf"pat-(?:na|eu)\d-{_U}"),
    _token_format("figma-token", "figd_", rf"figd_{_W}{{40,}}"),
    _token_format("postman-key", "PMAK-", rf"PMAK-{_H}{{24}}-{_H}{{34}}"),
    _token_format("dropbox-token", "sl.", rf"sl\.{_W}{{130,}}"),
    _token_format("contentful-token", "CFPAT-", rf"CFPAT-{_W}{{43}}"),
    _token_format("facebook-token", "EAA", rf"EAA[A-Z]{_A}{{100,}}"),
    _token_format("mapbox-token", "sk.eyJ", rf"sk\.eyJ{_W}{{20,}}\.{_W}{{20,}}"),
)

TOKEN_FORMATS = (
    *CLOUDS,
    *CODE_HOSTS,
    *MODEL_PROVIDERS,
    *CHATS_AND_MAIL,
    *PAYMENT_AND_SHOPS,
    *REGISTRIES,
    *DEVELOPER_TOOLS,
)
"""Every format. Of two that match at one place the longer match wins."""


# Whether a value looks random, and whether it is only a placeholder. Pure; looks at no more than
# a value's first 128 characters.


MAX_JUDGED_LENGTH = 128
"""Characters of a value that are judged, so that a long one costs no more."""
MIN_ENTROPY_BITS = 3.0
"""Shannon entropy in bits per character. 16 random hex digits have about 3.1, English words joined
by dashes of that length as much: so this rejects repetition only, and `count_random_characters`
does the rest.
"""
MIN_RANDOM_CHARACTERS = 8
"""Characters that must stand in parts that are neither words nor numbers: the length of the
shortest password taken for one.
"""

REDACTION_MARK = lazy_pattern(r"\[redacted: [a-z0-9-]{1,40}\]")
"""The mark that redaction leaves in the place of a secret."""

_PLACEHOLDER = lazy_pattern(
    r"x{5}|\*{3}|\.{3}|…|•{3}|_{5}|0{9}|1{8}|example|placeholder|your[_-]|changeme|"
    r"change[_-]me|dummy|redacted|replace[_-]?(?:me|with)|insert[_-]"
    r"|todo|not[_-]?a?[_-]?real|deadbeef|lorem",
    re.IGNORECASE,
)
_PLACEHOLDER_WORDS = lazy_pattern(
    r"(?:^|[^a-z])(?:my|your|the|test|testing|fake|sample|mock|some|demo|default|none|null|"
    r"undefined|foo|bar|secret|password|passwd|passw?o?r?d\d*"
    r"|p[a@][s$]{2}w[o0]rd\d*|pass|token|admin|root|user|postgres|mysql|redis|guest|hunter2|"
    r"letmein|qwerty|string|value|here)(?:$|[^a-z])",
    re.IGNORECASE,
)
_VARIABLE = lazy_pattern(
    r"\$[a-z_{(]|[<{]|%[({a-z]|\[redacted|(?:os\.|process\.|import\.meta\.|deno\.)?(?:environ|"
    r"env|getenv|secrets|vars|var|local|data|config|settings|args|options"
    r"|self|this|request|req|props|params|ctx|state|context|credentials|creds|auth|session)"
    r"(?:\.|\[|\(|::|->)",
    re.IGNORECASE,
)
_SEPARATORS = lazy_pattern(r"[-_./:\\\s,;|#@+=]+")
_UUID = lazy_pattern(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE
)
_DIGEST = lazy_pattern(r"(?:sha\d{1,3}|md5|git|blake\w{1,3})[-:]", re.IGNORECASE)
_PATH = lazy_pattern(
    r"\.{0,2}/[\w.-]+/|~/|\./|\.\./|[A-Za-z]:\\|https?:|file:|data:|arn:|urn:|"
    r"[\w./-]{1,200}\.(?:json|ya?ml|toml|pem|txt|py|ts|js|go|md|key|crt)\Z"
)
_WORD = lazy_pattern(r"([A-Za-z]+)\d{0,4}\Z|\d{1,12}\Z")
_HUMP = lazy_pattern(r"[a-z][A-Z]")
_SEQUENCES = (
    "0123456789",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "9876543210",
)
_SEQUENCE_LENGTH = 6


def is_uuid(value: str) -> bool:
    """Whether the value is a UUID: an identifier, unless its key says otherwise."""
    return _UUID.match(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether the value is a placeholder in a token's format: crosses, `EXAMPLE`, a counted-up
    alphabet. Random text has none of these by chance.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return (
        _PLACEHOLDER.search(value) is not None
        or len(set(value)) < 6
        or _count_sequential(value) * 2 >= len(value)
    )


def is_reference_or_placeholder(value: str) -> bool:
    """Whether the value is a variable, a path, an address, a hash, or a placeholder word."""
    value = value[:MAX_JUDGED_LENGTH]
    return (
        _VARIABLE.match(value) is not None
        or _DIGEST.match(value) is not None
        or _PATH.match(value) is not None
        or _PLACEHOLDER_WORDS.search(value) is not None
        or is_placeholder(value)
    )


def is_random_looking(value: str) -> bool:
    """Whether the value looks random: enough different characters, and enough of them outside words
    and numbers.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return (
        count_random_characters(value) >= MIN_RANDOM_CHARACTERS
        and entropy_bits(value) >= MIN_ENTROPY_BITS
    )


def is_password_like(value: str) -> bool:
    """Whether the value may be a password: two kinds of characters among eight or more, in a part
    that is no word.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return (
        not value.isalpha()
        and not value.isdigit()
        and len(set(value)) >= 5
        and count_random_characters(value) >= MIN_RANDOM_CHARACTERS
    )


def entropy_bits(value: str) -> float:
    """Shannon entropy of the characters, in bits."""
    size = len(value)
    return (
        -sum(count / size * log2(count / size) for count in Counter(value).values())
        if size
        else 0.0
    )


def count_random_characters(value: str) -> int:
    """Number of characters in parts (between separators) that are neither words, camel case,
    numbers, nor a word with a number.
    """
    return sum(len(part) for part in _SEPARATORS.split(value) if part and not _is_word(part))


def _is_word(part: str) -> bool:
    if part.isalpha() and (part.islower() or part.isupper()):
        return True
    found = _WORD.match(part)
    # Humps of camel case are three letters or more on average; among random letters a quarter of
    # all pairs rises.
    return found is not None and len(_HUMP.findall(part)) * 5 <= len(found[1] or part)


def _count_sequential(value: str) -> int:
    """Number of characters in runs of the alphabet, the digits or the keyboard."""
    folded = value.lower()
    at = counted = 0
    while at + _SEQUENCE_LENGTH <= len(folded):
        if any(folded[at : at + _SEQUENCE_LENGTH] in run for run in _SEQUENCES):
            counted += _SEQUENCE_LENGTH
            at += _SEQUENCE_LENGTH
        else:
            at += 1
    return counted
