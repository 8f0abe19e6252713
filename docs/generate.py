"""Write the parts of the documents that come from the code: every command's help, every setting,
the attacks that the tests play, and what real clients were seen to send.

`make docs` runs it; a test checks it.
"""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec

from memorist.cli.main import memorist_group
from memorist.context.context_tags import FILE_NATIVE_ROWS, ROLLOUT_ROWS, ContextTag
from memorist.mcp_server.tool_arguments import TOOLS, McpTool
from memorist.settings import Settings
from memorist.settings_file import format_setting_value

DOCS = Path(__file__).parent


def help_of(command: click.Command, path: str) -> list[str]:
    """The help text of a command and of those below it."""
    context = click.Context(
        command,
        info_name=path,
        max_content_width=100,
        terminal_width=100,
        help_option_names=["-h", "--help"],
    )
    parts = [f"### `{path}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                parts += help_of(below, f"{path} {name}")
    return parts


def in_toml(text: str) -> str:
    """A setting's description, with the words of a settings file for the constants of Python."""
    return re.sub(r"\b(True|False|None)\b", lambda found: PYTHON_CONSTANTS[found.group()], text)


PYTHON_CONSTANTS = {"True": "`true`", "False": "`false`", "None": "not set"}


def settings_of(kind: type[msgspec.Struct], path: str) -> list[str]:
    """One row for each setting below a struct."""
    rows = []
    described = _field_texts(kind)
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct) and not path:
            rows += settings_of(field.type, f"{field.name}.")
            continue
        default = field.default if field.default is not msgspec.NODEFAULT else {}
        shown = format_setting_value(default)
        rows.append(
            f"| `{path}{field.name}` | `{shown}` | {in_toml(described.get(field.name, ''))} |"
        )
    return rows


REQUIREMENT = re.compile(r" \([A-Z]{2}-\d+\)")
"""The id of a required behaviour: the page for users leaves it out."""


def _field_texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The string below each field in the source, as one line."""
    texts = {}
    lines = [
        node for node in ast.walk(ast.parse(inspect.getsource(kind))) if isinstance(node, ast.stmt)
    ]
    for field, below in pairwise(lines):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                shown = REQUIREMENT.sub("", " ".join(text.split()))
                texts[name] = shown.replace("|", "\\|")
    return texts


def tags_of(rows: tuple[ContextTag, ...]) -> list[str]:
    """One row for each tag of a family."""
    lines = [
        "| tag | role | opens with | recognised by | counts as | when |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        form = f"`{row.opening.strip().replace(chr(10), ' ')}`" if row.opening else "no tag"
        role = f"{row.role}, own message" if row.apart else row.role
        lines.append(
            f"| `{row.tag}` | {role} | {' '.join(form.split())} | {row.form} | "
            f"{row.origin.value} | {row.when} |"
        )
    return lines


ENDS = {
    "withheld": "not shown; `memorist memory check` says why",
    "left out": "the line or the file is left out of what is shown",
    "shown as data": "shown inside the frame, what would end or forge it made harmless",
}


def attacks_of(tests: Path) -> list[str]:
    """The attacks that the tests play, by the way they come in, and how each ends; then what is
    tried on memories that are there.
    """
    found = runpy.run_path(str(tests / "catalogue.py"))
    rows = [
        (each.channel, each.name, "waits in the inbox, or is refused") for each in found["ORDERS"]
    ]
    rows += [(each.channel, each.name, "nothing is kept") for each in found["TYPED"]]
    rows += [(each.channel, each.name, ENDS[each.ends]) for each in found["DROPPED"]]
    records = runpy.run_path(str(tests / "client_records.py"))
    rows += [
        (f"prompt in {each.client}", each.way, "waits in the inbox, or nothing is kept")
        for each in records["CLIENT_RECORDS"]
    ]
    rows += [
        ("prompt in codex", way, "waits in the inbox, or nothing is kept")
        for way in records["CODEX_SOURCES"]
    ]
    parts = [
        "| comes in by | attack | how it ends |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in sorted(rows)),
        "",
    ]
    parts += [
        "An obedient model writes each order that comes from outside in these ways:",
        "",
        *(f"- {way}" for way in found["ways"]("")),
        "",
    ]
    tree = ast.parse((tests / "test_existing.py").read_text("utf-8"))
    told = [
        ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    return [
        *parts,
        "Memories that are there, and what stands around them:",
        "",
        *(f"- {' '.join(text.split())}" for text in told),
    ]


def compared(record: Path) -> list[str]:
    """What the real clients send beside what memorist assembles: a count, the reasons of rows that
    differ, and a table for each situation of each client.
    """
    found = tomllib.loads(record.read_text("utf-8"))
    why, clients = found["why"], [found[name] for name in found if name != "why"]
    verdicts = [
        why[row["why"]]["verdict"] if "why" in row else "same"
        for client in clients
        for rows in client["situations"].values()
        for row in rows
    ]
    counts = ", ".join(
        f"{verdicts.count(each)} {each}" for each in ("same", "on purpose", "not applicable")
    )
    parts = [f"{len(verdicts)} rows: {counts}.", "", "## The reasons", ""]
    parts += ["| reason | verdict | text |", "|---|---|---|"]
    parts += [
        f"| {name.replace('_', ' ')} | {each['verdict']} | {each['text']} |"
        for name, each in why.items()
    ]
    parts.append("")
    for client in clients:
        parts += [f"## {client['name']} {client['version']}", ""]
        for name, rows in client["situations"].items():
            parts += [
                f"### {client['name']}: {name}",
                "",
                f"| {client['name']} | memorist | verdict |",
                "|---|---|---|",
            ]
            for row in rows:
                sides = [f"`{row[side]}`" if side in row else "" for side in ("theirs", "ours")]
                key = row.get("why")
                verdict = f"{why[key]['verdict']}: {key.replace('_', ' ')}" if key else "same"
                parts.append(f"| {' | '.join((*sides, verdict))} |")
            parts.append("")
        parts += [
            "Not applicable:",
            "",
            *(f"- *{name}*: {reason}" for name, reason in client["without"].items()),
            "",
        ]
    return parts[:-1]


def tools_of(tools: tuple[McpTool, ...]) -> list[str]:
    """One row for each tool of the MCP server, and one for each of its arguments."""
    lines = [
        "| tool | what a model is told of it |",
        "|---|---|",
        *(f"| `{tool.name}` | {tool.description} |" for tool in tools),
    ]
    lines += ["", "| tool | argument | type | meaning |", "|---|---|---|---|"]
    for tool in tools:
        for name, schema in tool.schema["properties"].items():
            need = ", needed" if name in tool.schema.get("required", ()) else ""
            lines.append(
                f"| `{tool.name}` | `{name}` | {_type_of(schema)}{need} | {schema['description']} |"
            )
    return lines


def _type_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"] if each)
    bounds = (
        f"{schema.get('minimum', 0):,} to {schema['maximum']:,}"
        if "maximum" in schema
        else f"at most {schema['maxLength']:,} characters"
    )
    return f"{schema['type']}, {bounds}"


ELSEWHERE = "Elsewhere: "
"""Begins the paragraph of a package's docstring that says what a reader might look for there in
vain, and where it stands.
"""


def parts_of(source: Path, order: list[str]) -> list[str]:
    """One row for each part of the sources, the highest first, as the test of the architecture has
    them in order.
    """
    rows = ["| part | what it is | what stands elsewhere |", "|---|---|---|"]
    for part in reversed(order):
        at = source / part
        file = at / "__init__.py" if at.is_dir() else at.with_suffix(".py")
        if "/" in part or part == "__main__":
            continue
        what, *further = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n\n")
        elsewhere = [each.removeprefix(ELSEWHERE) for each in further if each.startswith(ELSEWHERE)]
        texts = (" ".join(each.split()) for each in (what, "".join(elsewhere)))
        rows.append(f"| `{part}{'/' if at.is_dir() else '.py'}` | {' | '.join(texts)} |")
    return rows


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STORIES = {
    "run_story": "a long task past its window, a correction, a second session; memorist broken",
    "read_large_pages": "results of 25,000 characters, three at once",
    "tell_users_apart": "two users of one server",
    "leave_streams": "streams that the host leaves early",
    "go_on_while_locked": "a locked database",
}
"""The stories that plugs share (`tests/plugs/story.py`), with what each is about."""
PICTURES = "pictures"
"""What every host's tests show by themselves, in a test that is named after it."""


def stories_of(tests: Path) -> list[str]:
    """For each host the stories that its tests run, or why one is not run. Raises KeyError for a
    cell that is neither.
    """
    reasons = tomllib.loads((tests / "conformance.toml").read_text("utf-8"))
    rows = []
    for path in sorted(tests.glob("test_*.py")):
        host = path.stem.removeprefix("test_")
        tree = ast.parse(path.read_text("utf-8"))
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        tested = {each.name for each in ast.walk(tree) if isinstance(each, _FUNCTIONS)}
        if any("_picture" in name for name in tested):
            called.add(PICTURES)
        cells = [
            "yes" if story in called else reasons[host][story] for story in (*STORIES, PICTURES)
        ]
        rows.append(f"| {host.replace('_', '-')} | {' | '.join(cells)} |")
    columns = (*STORIES.values(), PICTURES)
    return [f"| host | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}", *rows]


def generated() -> dict[Path, str]:
    """Each document with its generated part brought up to date."""
    parts = {
        "commands": "\n".join(help_of(memorist_group, "memorist")),
        "attacks": "\n".join(attacks_of(DOCS.parent / "tests" / "attacks")) + "\n",
        "settings": "\n".join(
            ["| setting | default | meaning |", "|---|---|---|", *settings_of(Settings, "")]
        )
        + "\n",
        "context-compared": "\n".join(compared(DOCS.parent / "tests" / "clients" / "compared.toml"))
        + "\n",
        "context": "\n".join(
            [
                "### Rollout family\n",
                *tags_of(ROLLOUT_ROWS),
                "",
                "### File-native family\n",
                *tags_of(FILE_NATIVE_ROWS),
            ]
        )
        + "\n",
    }
    order = tomllib.loads((DOCS.parent / "tests" / "architecture.toml").read_text("utf-8"))["order"]
    parts["start-here"] = "\n".join(parts_of(DOCS.parent / "src" / "memorist", order)) + "\n"
    parts["plugs"] = "\n".join(stories_of(DOCS.parent / "tests" / "plugs")) + "\n"
    parts["plugs/mcp"] = "\n".join(tools_of(TOOLS)) + "\n"
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
