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
from typing import NamedTuple

from memorist.core.later import late_pattern

EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""No letter or digit before: a token does not begin inside a word. An escaped line end (`\\n` in
JSON) is no letter.
"""
END = r"(?![A-Za-z0-9])"
_W = r"[A-Za-z0-9_-]"
_A = r"[A-Za-z0-9]"
_H = r"[a-f0-9]"
_U = rf"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"


class Format(NamedTuple):
    """One kind of token."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    back: int = 0


def _format(name: str, hints: str, pattern: str, back: int = 0) -> Format:
    return Format(name, tuple(hints.split()), late_pattern(("" if pattern.startswith("(?<=") else EDGE) + pattern), back)


CLOUDS = (
    _format("aws-access-key", "AKIA ASIA ABIA ACCA", rf"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{END}"),
    _format("aws-bedrock-key", "ABSK bedrock-api-key-", rf"(?:ABSK[A-Za-z0-9+/]{{100,}}={{0,2}}|bedrock-api-key-{_A}{{40,}}={{0,2}})"),
    _format("google-api-key", "AIza", rf"AIza{_W}{{35}}(?!{_W})"),
    _format("google-oauth-token", "ya29.", rf"ya29\.{_W}{{20,}}"),
    _format("google-oauth-secret", "GOCSPX-", rf"GOCSPX-{_W}{{24,}}"),
    _format("google-refresh-token", "1//0", rf"1//0{_W}{{40,}}"),
    _format("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{80,}={0,2})"),
    _format("azure-shared-key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{40,}={0,2})"),
    _format("azure-signature", "sig=", r"sig=([A-Za-z0-9%+/]{43,200}(?:%3D|=))"),
    _format("azure-client-secret", "Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])", 4),
    _format("azure-devops-token", "AZDO", rf"{_A}{{76}}AZDO{_A}{{4}}{END}", 76),
    _format("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", rf"do[opr]_v1_{_H}{{64}}"),
    _format("alibaba-access-key", "LTAI", rf"LTAI{_A}{{16,20}}{END}"),
    _format("tencent-secret-id", "AKID", rf"AKID{_A}{{32}}{END}"),
    _format("cloudflare-origin-key", "v1.0-", rf"v1\.0-{_H}{{24}}-{_H}{{146}}"),
    _format("heroku-token", "HRKU-", rf"HRKU-{_W}{{36,}}"),
    _format("fly-token", "fm1_ fm1a_ fm1r_ fm2_ fo1_", rf"f(?:m\d[ar]?_[A-Za-z0-9+/=,_-]{{40,}}|o1_{_W}{{40,}})"),
    _format("netlify-token", "nfp_", rf"nfp_{_A}{{36,}}"),
    _format("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_W}{{24,}}"),
    _format("terraform-token", ".atlasv1.", rf"{_A}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}", 14),
    _format("pulumi-token", "pul-", rf"pul-{_H}{{40}}{END}"),
    _format("doppler-token", "dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}"),
    _format("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,2}"),
    _format("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _format("databricks-token", "dapi", rf"dapi{_H}{{32}}(?:-\d)?{END}"),
    _format("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,}"),
    _format("supabase-key", "sbp_ sb_secret_", rf"(?:sbp_{_H}{{40}}|sb_secret_{_W}{{20,}})"),
    _format("neon-key", "napi_", rf"napi_{_A}{{60,}}"),
    _format("tailscale-key", "tskey-", rf"tskey-[a-z]{{2,12}}-{_A}{{6,}}(?:-{_A}{{10,}})?"),
)

CODE_HOSTS = (
    _format("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_A}{{36,}}"),
    _format("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{60,}"),
    _format(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}",
    ),
    _format("bitbucket-token", "ATBB ATCTT3", rf"(?:ATBB{_A}{{24,}}|ATCTT3[A-Za-z0-9_=-]{{60,}})"),
    _format("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    _format("sourcegraph-token", "sgp_", rf"sgp_(?:{_H}{{16}}_|local_)?{_H}{{40}}"),
    _format("circleci-token", "CCIPAT_ CCIPRJ_", rf"CCIP(?:AT|RJ)_{_A}{{20,}}_{_H}{{40}}"),
    _format("buildkite-token", "bkua_", rf"bkua_{_H}{{40}}"),
    _format("sonar-token", "sqa_ sqp_ squ_", rf"sq[apu]_{_H}{{40}}"),
)

MODELS = (
    _format("anthropic-key", "sk-ant-", rf"sk-ant-{_W}{{24,}}"),
    _format("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"sk-(?:proj|svcacct|admin|None)-{_W}{{30,}}"),
    _format("openrouter-key", "sk-or-", rf"sk-or-(?:v1-)?{_H}{{48,}}"),
    _format("langfuse-key", "sk-lf-", rf"sk-lf-{_U}"),
    _format("model-key", "sk-", rf"sk-{_A}{{20,}}"),
    _format("langsmith-key", "lsv2_", rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    _format("huggingface-token", "hf_ api_org_", rf"(?:hf_|api_org_){_A}{{34,}}"),
    _format("replicate-token", "r8_", rf"r8_{_A}{{37,}}"),
    _format("groq-key", "gsk_", rf"gsk_{_A}{{40,}}"),
    _format("xai-key", "xai-", rf"xai-{_A}{{60,}}"),
    _format("perplexity-key", "pplx-", rf"pplx-{_A}{{40,}}"),
    _format("fireworks-key", "fw_", rf"fw_{_A}{{22,}}"),
    _format("cerebras-key", "csk-", rf"csk-{_A}{{40,}}"),
    _format("tavily-key", "tvly-", rf"tvly-(?:dev-|prod-)?{_A}{{28,}}"),
    _format("nvidia-key", "nvapi-", rf"nvapi-{_W}{{60,}}"),
    _format("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    _format("jina-key", "jina_", rf"jina_{_W}{{50,}}"),
    _format("e2b-key", "e2b_", rf"e2b_{_H}{{40}}"),
    _format("firecrawl-key", "fc-", rf"fc-{_H}{{32}}{END}"),
    _format("elevenlabs-key", "sk_", rf"sk_{_H}{{48}}{END}"),
    _format("apify-token", "apify_api_", rf"apify_api_{_A}{{36,}}"),
)

CHATS_AND_MAIL = (
    _format("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,}"),
    _format("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _format("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,})"),
    _format("discord-webhook", "/api/webhooks/", rf"(?<=com)/api/webhooks/(\d{{10,25}}/{_W}{{50,}})"),
    _format("teams-webhook", ".webhook.office.com/", r"(?<=[a-z0-9])\.webhook\.office\.com/([A-Za-z0-9/@_-]{40,})"),
    _format("feishu-webhook", "/open-apis/bot/v2/hook/", rf"(?<=[a-z])/open-apis/bot/v2/hook/({_U})"),
    _format("dingtalk-webhook", "oapi.dingtalk.com/robot/send?", rf"oapi\.dingtalk\.com/robot/send\?access_token=({_H}{{40,}})"),
    _format("wecom-webhook", "qyapi.weixin.qq.com/cgi-bin/webhook/", rf"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=({_U})"),
    _format("zapier-webhook", "hooks.zapier.com/hooks/catch/", r"hooks\.zapier\.com/hooks/catch/(\d{4,12}/\w{6,})"),
    _format("telegram-token", ":AA", rf"(?<=\d{{8}}):(AA{_W}{{32,33}})(?!{_W})"),
    _format("matrix-token", "syt_", rf"syt_{_A}{{1,80}}_[A-Za-z]{{20}}_{_A}{{6}}"),
    _format("twilio-key", "SK", rf"SK{_H}{{32}}{END}"),
    _format("sendgrid-key", "SG.", rf"SG\.{_W}{{16,24}}\.{_W}{{36,}}"),
    _format("mailgun-key", "key-", rf"key-{_H}{{32}}{END}"),
    _format("mailchimp-key", "-us", rf"{_H}{{32}}-us\d{{1,2}}{END}", 32),
    _format("brevo-key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{_H}{{64}}-{_A}{{16}}"),
    _format("resend-key", "re_", rf"re_{_A}{{6,10}}_{_A}{{20,}}"),
)

PAYMENT_AND_SHOPS = (
    _format("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"[sr]k_(?:live|test)_{_A}{{16,}}"),
    _format("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _format("square-token", "EAAA sq0csp- sq0atp-", rf"(?:EAAA{_W}{{56,}}|sq0(?:csp|atp)-{_W}{{22,}})"),
    _format("braintree-token", "access_token$", rf"access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_H}{{32}}"),
    _format("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _format("plaid-token", "access-sandbox- access-development- access-production-", rf"access-(?:sandbox|development|production)-{_U}"),
    _format("razorpay-key", "rzp_live_ rzp_test_", rf"rzp_(?:live|test)_{_A}{{14,}}"),
    _format("flutterwave-key", "FLWSECK", rf"FLWSECK(?:_TEST)?-{_A}{{12,}}(?:-X)?"),
)

REGISTRIES = (
    _format("npm-token", "npm_", rf"npm_{_A}{{36}}{END}"),
    _format("pypi-token", "pypi-AgE", rf"pypi-AgE{_W}{{50,}}"),
    _format("rubygems-key", "rubygems_", rf"rubygems_{_H}{{48}}"),
    _format("crates-token", "cio", rf"cio{_A}{{32}}{END}"),
    _format("docker-token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_W}{{24,}}"),
    _format("nuget-key", "oy2", rf"oy2[a-z0-9]{{43}}{END}"),
    _format("artifactory-token", "AKCp cmVmdGtu", rf"(?:AKCp{_A}{{60,}}|cmVmdGtu{_A}{{50,}})"),
    _format("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    _format("packagist-token", "packagist_", rf"packagist_[ou][ru]t_{_H}{{60,}}"),
)

TOOLS = (
    _format("grafana-token", "glc_ glsa_", rf"(?:glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|glsa_{_A}{{32}}_[A-Fa-f0-9]{{8}})"),
    _format("sentry-token", "sntrys_ sntryu_", rf"(?:sntrys_eyJ[A-Za-z0-9+/=_]{{60,}}|sntryu_{_H}{{64}})"),
    _format("newrelic-key", "NRAK- NRII- NRJS-", rf"NR(?:AK-[A-Z0-9]{{27}}|II-{_W}{{32}}|JS-{_H}{{19}})"),
    _format("dynatrace-token", "dt0c01. dt0s16.", r"dt0[cs]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    _format("posthog-key", "phx_", rf"phx_{_A}{{40,}}"),
    _format("logfire-token", "pylf_v", rf"pylf_v\d_[a-z]{{2}}_{_A}{{40,}}"),
    _format("linear-key", "lin_api_ lin_oauth_", rf"lin_(?:api|oauth)_{_A}{{40,}}"),
    _format("notion-token", "ntn_ secret_", rf"(?:ntn_{_A}{{40,}}|secret_{_A}{{43}}{END})"),
    _format("airtable-token", "pat", rf"pat{_A}{{14}}\.{_H}{{64}}"),
    _format("hubspot-token", "pat-na pat-eu", rf"pat-(?:na|eu)\d-{_U}"),
    _format("figma-token", "figd_", rf"figd_{_W}{{40,}}"),
    _format("postman-key", "PMAK-", rf"PMAK-{_H}{{24}}-{_H}{{34}}"),
    _format("dropbox-token", "sl.", rf"sl\.{_W}{{130,}}"),
    _format("contentful-token", "CFPAT-", rf"CFPAT-{_W}{{43}}"),
    _format("facebook-token", "EAA", rf"EAA[A-Z]{_A}{{100,}}"),
    _format("mapbox-token", "sk.eyJ", rf"sk\.eyJ{_W}{{20,}}\.{_W}{{20,}}"),
)

FORMATS = (*CLOUDS, *CODE_HOSTS, *MODELS, *CHATS_AND_MAIL, *PAYMENT_AND_SHOPS, *REGISTRIES, *TOOLS)
"""Every format. Of two that match at one place the longer match wins."""
