"""`memorist proxy`."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from pathlib import Path

import click
from msgspec.structs import replace

from memorist.cli.command_environment import load_user_settings, read_environment
from memorist.cli.server_options import PORT_TYPE, import_module_of_extra
from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.errors import UsageError
from memorist.proxy.tenant_lookup import read_tenant_identification
from memorist.system import format_server_address

AUTH_VARIABLE = "MEMORIST_PROXY_TOKEN"
"""Environment variable with the token that clients must send, where one is needed."""
TENANTS_FOLDER = "tenants"
"""Folder of the tenants' homes, below the home of whoever runs the proxy."""
_UPSTREAM = re.compile(r"([A-Za-z0-9][\w.-]*)=(https?://[^\s/?#]+[^\s?#]*)")


@click.command("proxy")
@click.option(
    "--host",
    default=None,
    help="Address to listen on; beyond this machine a token is needed. [default: the setting "
    "proxy.host]",
)
@click.option(
    "--port",
    type=PORT_TYPE,
    default=None,
    help="0 takes a free one. [default: the setting proxy.port]",
)
@click.option(
    "--upstream",
    multiple=True,
    metavar="NAME=URL",
    help="A provider's base address; more than once for several. [default: the setting]",
)
@click.option(
    "--allow-host",
    multiple=True,
    help="A name that the proxy answers to, beside this machine's; more than once for several.",
)
@click.option(
    "--tenants",
    default=None,
    metavar="FILE|header",
    help="Serve many users, each in a home of its own: known by a token from this TOML file, "
    "or by the header x-memorist-tenant. [default: the setting]",
)
@click.option(
    "--unknown-tenant",
    type=click.Choice(["refuse", "pass"]),
    default=None,
    help="A request of no tenant that is known. [default: the setting]",
)
@click.option("--quiet", is_flag=True, help="Say only what went wrong.")
def proxy_command(
    upstream: tuple[str, ...], allow_host: tuple[str, ...], quiet: bool, **given: str | int | None
) -> None:
    """Stand between agents and their model providers, so that their conversations are compacted and
    remembered. Needs the extra `proxy`.

    Example: memorist proxy --port 8787
    """
    server = import_module_of_extra("memorist.proxy.proxy_server", "proxy")
    settings = load_user_settings()
    chosen = settings.proxy
    chosen = replace(
        chosen,
        **{name: value for name, value in given.items() if value is not None},
        upstreams={**chosen.upstreams, **dict(map(_parse_upstream, upstream))},
        hosts=(*chosen.hosts, *(each.lower() for each in allow_host)),
    )
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING if quiet else logging.INFO,
        format="%(asctime)s %(message)s",
    )
    token = read_environment().get(AUTH_VARIABLE, "")
    tenancy = read_tenant_identification(chosen)
    engines = (
        (lambda: Tenants(Path(settings.home).expanduser() / TENANTS_FOLDER, settings=settings))
        if tenancy.has_tenants
        else lambda: Memorist(settings=settings)
    )
    listening = server.open_proxy_socket(chosen, token, tenancy)
    click.echo(f"memorist proxy at {format_server_address(listening)}")
    for each, url in chosen.upstreams.items():
        click.echo(f"  {each}: {url}")
    if tenancy.has_tenants:
        click.echo(
            "  tenants, named in the header x-memorist-tenant"
            if tenancy.by_header
            else f"  {len(tenancy.tokens)} tenants, known by their tokens"
        )
    asyncio.run(server.serve_until_signal(engines, listening, chosen, token, tenancy))


def _parse_upstream(given: str) -> tuple[str, str]:
    found = _UPSTREAM.fullmatch(given)
    if found is None:
        raise UsageError(
            f"{given!r} is no upstream; write NAME=URL, such as "
            f"openrouter=https://openrouter.ai/api"
        )
    return found[1], found[2]
