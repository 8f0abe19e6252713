"""Hooks and proxy with one agent: each does its part."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist import Memorist
from memorist.cli.main import memorist_group
from memorist.core.messages import JsonObject
from memorist.proxy.conversation_matching import ProxyConversation
from memorist.proxy.proxy_session_pool import ProxySessionPool, TenantSessionOpener
from memorist.settings import ProxySettings

REQUEST: JsonObject = {
    "model": "claude-sonnet-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Always use pnpm here."}],
}


@pytest.mark.covers("IN-2")
async def test_the_proxy_compacts_what_the_hooks_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the hooks have the session, a request behind the proxy is prepared and not passed on;
    nothing is remembered twice, also after the hooks have closed it. The doctor says who does what.
    """
    monkeypatch.chdir(tmp_path)
    home, project = tmp_path / "home", str(tmp_path)
    conversation = ProxyConversation(id="one", format="anthropic", declared_project=project)
    conversation.project = project
    async with Memorist(home=home) as hooks, Memorist(home=home) as engine:
        session = await hooks.open("one", project=project)
        pool = ProxySessionPool(TenantSessionOpener(engine), ProxySettings())
        await pool.prepare(conversation, REQUEST)
        await pool.close()
        await session.close()
        again = ProxySessionPool(TenantSessionOpener(engine), ProxySettings())
        prepared = await again.prepare(conversation, REQUEST)
        assert prepared.session.layout.folder.name.endswith("-proxy")
        await again.close()
    assert not [*home.glob("projects/*/memory/*pnpm*")]
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    said = CliRunner().invoke(memorist_group, ["doctor"]).output
    assert "the proxy compacts" in said
