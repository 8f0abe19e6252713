"""What a proxy tells of itself: that it is well, and its figures."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from memorist.proxy import proxy_server
from memorist.proxy.tenant_lookup import TenantIdentificationRules
from memorist.testing import Say, ScriptedServer
from proxy.conftest import Proxied, anthropic, user


@pytest.mark.covers("SF-6")
def test_a_proxy_tells_that_it_is_well_and_what_it_did(proxied: Proxied) -> None:
    """`/healthz` and `/metrics` are answered by the proxy itself, reach no provider, and name
    neither session nor words; every other path goes to the provider as before.
    """
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        proxy = proxied(server)
        named = {"x-memorist-session": "secret-name"}
        proxy.ask("/v1/messages", anthropic([user("Hello.")]), headers=named)
        well = proxy.ask("/healthz", method="GET")
        figures = proxy.ask("/metrics", method="GET")

    text = figures.data.decode()
    assert (well.status, well.body) == (200, {"ok": True})
    assert figures.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'requests_total{upstream="anthropic",status="200",outcome="unchanged"} 1' in text
    assert "memorist_proxy_open_conversations 1" in text
    sent = len(server.received[0].raw)
    assert f"memorist_proxy_cached_body_bytes {sent}" in text
    assert 'seconds_bucket{le="+Inf"} 1' in text
    assert "secret-name" not in text
    assert len(server.received) == 1


@pytest.mark.covers("SF-6")
def test_figures_need_the_proxys_token(proxied: Proxied) -> None:
    """A client without the token, and any tenant, learns that the proxy is well and no figure."""
    token = "0aK9xmP2qLr7" + "vBn4wZs8tYc3"
    with ScriptedServer(lambda request: Say(text="Hello.")) as server:
        guarded = proxied(server, token=token)
        assert guarded.ask("/healthz", method="GET").status == 200
        assert guarded.ask("/metrics", method="GET").status == 401
        shown = {"x-memorist-token": token}
        assert guarded.ask("/metrics", method="GET", headers=shown).status == 200
        many = proxied(server, tenancy=TenantIdentificationRules(by_header=True))
        tenant = {"x-memorist-tenant": "one", "x-memorist-token": ""}
        assert many.ask("/metrics", method="GET", headers=tenant).status == 401


@pytest.mark.covers("SF-6")
async def test_what_refers_to_itself_is_freed_while_the_proxy_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As closed conversations do, with thresholds at which no full collection begins by itself."""
    monkeypatch.setattr(proxy_server, "GARBAGE_COLLECTION_INTERVAL_SECONDS", 0.01)
    freed = asyncio.Event()
    left: set[object] = set()
    left.add(left.add)
    weakref.finalize(left, freed.set)
    gc.disable()
    try:
        del left
        assert not freed.is_set()
        collecting = asyncio.create_task(proxy_server.collect_garbage_periodically())
        await asyncio.wait_for(freed.wait(), 20)
        collecting.cancel()
    finally:
        gc.enable()
