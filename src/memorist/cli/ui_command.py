"""`memorist ui`."""

from __future__ import annotations

import threading
import webbrowser

import click

from memorist.cli.server_options import PORT_TYPE, import_module_of_extra
from memorist.system import open_listening_socket
from memorist.views.page_texts import LANGUAGES

CONNECTION_BACKLOG = 64
"""Connections that may wait to be accepted."""


@click.command("ui")
@click.option("--port", type=PORT_TYPE, default=0, help="0 takes a free one. [default: 0]")
@click.option(
    "--language",
    type=click.Choice(sorted(LANGUAGES)),
    help="Language of the page. [default: what the browser prefers]",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
def ui_command(port: int, language: str | None, no_browser: bool) -> None:
    """Open a page on this machine that shows what the model saw, what is remembered and why, and
    lets you take it back. Needs the extra `ui`.

    The address lets one browser in, once. The page ends by itself when nobody looks at it.

    Example: memorist ui --no-browser
    """
    server = import_module_of_extra("memorist.page.web_server", "ui")
    access_module = import_module_of_extra("memorist.page.page_access", "ui")
    listening = open_listening_socket("127.0.0.1", port, CONNECTION_BACKLOG)
    access = access_module.PageAccess(listening.getsockname()[1])
    click.echo(f"memorist ui at {access.start_address}")
    if not no_browser:
        # In a thread: one of a terminal, as where there is no screen, waits for the first answer.
        start = access.start_address
        threading.Thread(target=webbrowser.open, args=(start,), daemon=True).start()
    server.serve_page(server.PageServer(access, language or ""), listening)
