"""Magic Docs of a project, listed, checked and brought up to date by a program of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memorist
from memorist.engine.magic_docs_update import update_magic_docs
from memorist.errors import InputError
from memorist.magic_docs.document_files import DocumentLocationRules
from memorist.magic_docs.document_problems import check_magic_docs, list_magic_docs
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say


@pytest.mark.covers("MD-1", "MD-2")
async def test_a_program_lists_checks_and_updates_magic_docs(tmp_path: Path) -> None:
    """Without the command line: the documents by path, what is wrong with them, and an update by
    what a recorded session has shown; a file that is no Magic Doc is refused by its name.
    """
    shop = tmp_path / "shop"
    shop.mkdir()
    port = shop / "PORT.md"
    port.write_text("# MAGIC DOC: Port\n\nThe port is 8080.\n", "utf-8")
    (shop / "README.md").write_text("# Shop\n", "utf-8")
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        session = await engine.open("s1", project=str(shop))
        said = {"role": "user", "content": "The port is 9090 since today."}
        await session.prepare({"model": "m", "max_tokens": 10, "messages": [said]})
        recording = session.layout.transcript
    scope = DocumentLocationRules(
        files=engine.runtime.files, project=shop, home=engine.layout.home, max_bytes=65_536
    )
    edit = f'<edit path="{port}"><old>8080</old><new>9090</new></edit>'
    model = ScriptedModel([Say(text=edit)], name="scripted:m")

    listed, checked = list_magic_docs(scope), check_magic_docs(scope)
    done = await update_magic_docs(
        scope, [port], recording, session="s1", settings=engine.settings, model=model
    )
    with pytest.raises(InputError, match=r"README\.md is not kept"):
        await update_magic_docs(
            scope,
            [shop / "README.md"],
            recording,
            session="s1",
            settings=engine.settings,
            model=model,
        )

    assert [(each.title, each.problems) for each in listed] == [("Port", ())]
    assert [each.problems for each in checked] == [()]
    assert (done.changed, done.left) == ((str(port),), {})
    assert "The port is 9090." in port.read_text("utf-8")
