"""Write the parts of the documents that come from the code: every command's help, and every setting. `make docs` runs it; a test checks it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import msgspec

from memorist.cli.main import commands
from memorist.context.rows import FILE_NATIVE, ROLLOUT, Row
from memorist.settings import Settings

DOCS = Path(__file__).parent


def help_of(command: click.Command, path: str) -> list[str]:
    """The help text of a command and of those below it."""
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100, help_option_names=["-h", "--help"])
    parts = [f"### `{path}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                parts += help_of(below, f"{path} {name}")
    return parts


def settings_of(kind: type[msgspec.Struct], path: str) -> list[str]:
    """One row for each setting below a struct."""
    rows = []
    described = _field_texts(kind)
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct) and not path:
            rows += settings_of(field.type, f"{field.name}.")
            continue
        default = field.default if field.default is not msgspec.NODEFAULT else {}
        rows.append(f"| `{path}{field.name}` | `{default!r}` | {described.get(field.name, '')} |")
    return rows


def _field_texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The string below each field in the source, as one line."""
    found = re.finditer(r'^    (\w+): [^\n]+\n    """(.*?)"""', inspect.getsource(kind), re.MULTILINE | re.DOTALL)
    return {match.group(1): " ".join(match.group(2).split()).replace("|", "\\|") for match in found}


def tags_of(rows: tuple[Row, ...]) -> list[str]:
    """One row for each tag of a family."""
    lines = ["| tag | role | opens with | recognised by | counts as | when |", "|---|---|---|---|---|---|"]
    for row in rows:
        form = f"`{row.opening.strip().replace(chr(10), ' ')}`" if row.opening else "no tag"
        role = f"{row.role}, own message" if row.apart else row.role
        lines.append(f"| `{row.tag}` | {role} | {' '.join(form.split())} | {row.known} | {row.origin.value} | {row.when} |")
    return lines


def generated() -> dict[Path, str]:
    """Each document with its generated part brought up to date."""
    parts = {
        "commands": "\n".join(help_of(commands, "memorist")),
        "settings": "\n".join(["| setting | default | meaning |", "|---|---|---|", *settings_of(Settings, "")]) + "\n",
        "context": "\n".join(["### Rollout family\n", *tags_of(ROLLOUT), "", "### File-native family\n", *tags_of(FILE_NATIVE)]) + "\n",
    }
    texts = {}
    for name, body in parts.items():
        path = DOCS / f"{name}.md"
        before, _, rest = path.read_text("utf-8").partition(f"<!-- generated: {name} -->\n")
        _, _, after = rest.partition("<!-- end -->")
        texts[path] = f"{before}<!-- generated: {name} -->\n{body}<!-- end -->{after}"
    return texts


if __name__ == "__main__":
    for document, text in generated().items():
        document.write_text(text, "utf-8")
