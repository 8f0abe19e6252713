"""Who may read and change the page: the browser that opened the one-time address, and no web page
behind its back. Pure but for the draw of its tokens.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from http.cookies import CookieError, SimpleCookie

from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed, is_same_token

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Sent with every answer. Under `no-referrer` a browser gives its own forms the origin `null`."""

TOKEN_BYTES = 32
"""Random bytes of each token. Ours; 16 would do."""

Refusal = tuple[int, str]


class PageAccess:
    """The tokens of one running page."""

    def __init__(self, port: int) -> None:
        self.cookie_name = f"memorist-{port}"
        self._port = port
        self._invitation = secrets.token_urlsafe(TOKEN_BYTES)
        self._session = secrets.token_urlsafe(TOKEN_BYTES)
        self.csrf = secrets.token_urlsafe(TOKEN_BYTES)

    @property
    def start_address(self) -> str:
        """The address that lets one browser in, once."""
        return f"http://127.0.0.1:{self._port}/?token={self._invitation}"

    def exchange_token_for_cookie(self, token: str) -> str | None:
        """The cookie's value for the one-time token; None when it is wrong or was used."""
        if not self._invitation or not is_same_token(token, self._invitation):
            return None
        self._invitation = ""
        return self._session

    def find_refusal(self, headers: Mapping[str, Sequence[str]], method: str) -> Refusal | None:
        """Why a request is refused before its cookie is looked at: its host, its origin."""
        if not is_host_allowed(headers.get("host", ()), LOOPBACK_NAMES):
            return 421, "This page answers to 127.0.0.1 and localhost alone."
        own = {f"http://{host}" for host in headers.get("host", ())}
        origins = headers.get("origin", ())
        if any(origin not in own for origin in origins):
            return 403, "Pages of other origins are not let in."
        sites = headers.get("sec-fetch-site", ())
        if any(site not in {"none", "same-origin"} for site in sites):
            return 403, "Requests that another page makes are not let in."
        if method not in {"GET", "HEAD", "POST"}:
            return 405, "The page knows GET, HEAD and POST."
        if method == "POST" and not origins and not sites:
            return 403, "A change must say where it comes from."
        return None

    def has_session_cookie(self, headers: Mapping[str, Sequence[str]]) -> bool:
        """Whether the request carries the cookie of the browser that was let in."""
        for header in headers.get("cookie", ()):
            try:
                found = SimpleCookie(header).get(self.cookie_name)
            except CookieError:
                continue
            if found is not None and is_same_token(found.value, self._session):
                return True
        return False

    def is_genuine_form(self, fields: Mapping[str, str]) -> bool:
        """Whether a form was made by this page."""
        return is_same_token(fields.get("csrf", ""), self.csrf)


def restrict_redirect_to_page(address: str) -> str:
    """The address when it stays on this page, `/now` otherwise."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if plain and address.isprintable() else "/now"
