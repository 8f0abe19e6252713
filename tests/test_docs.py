"""The documents cannot drift: their code runs, their commands exist, their generated parts are the
code's.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

import memorist
from memorist.cli.main import memorist_group
from memorist.settings import Settings, SettingsLayer, resolve_settings
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Say

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = runpy.run_path(str(ROOT / "docs" / "console.py"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[pytest.ParameterSet]:
    found = []
    for path in DOCUMENTS:
        for number, match in enumerate(BLOCK.finditer(path.read_text("utf-8"))):
            if match.group(1) == language:
                # a host's package takes seconds to load; tests/plugs has its own tests
                marks = [pytest.mark.slow] if "\n# needs: " in f"\n{match.group(2)}" else []
                found.append(pytest.param(match.group(2), id=f"{path.name}-{number}", marks=marks))
    return found


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model for the code in the documents, on this machine. Closed also for a block that is
    skipped.
    """
    made = ScriptedServer(lambda request: Say(text="A prompt cache keeps what a model has read."))
    yield made
    made.close()


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # an example leaves its client to the end of the program
@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_in_the_documents_runs(
    code: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each block is complete in itself. One with a line `# needs: PACKAGE` is skipped where the
    package is not; `make test-plugs` has it.
    """
    needed = re.findall(r"^# needs: (\S+)$", code, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    with server:
        for package in needed:
            pytest.importorskip(
                package, reason=f"{package} is not installed; `make test-plugs` brings it"
            )
        for name, url in (("ANTHROPIC", server.url), ("OPENAI", server.openai_url)):
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "none")
        # a host leaves connections and loops open at the end, which is the end of a program here
        # too
        if needed:
            subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=100)
        else:
            gc.freeze()  # the collector need not go through what was loaded before
            exec(compile(code, "<document>", "exec"), {"__name__": "__document__"})  # noqa: S102 - the point of the test
            gc.collect()  # what it left open goes here, and not in a later test


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*_loop.py")), ids=lambda path: path.name
)
async def test_the_examples_run_with_the_real_sdks(
    example: Path,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each prints the model's answers, and adopts memorist in at most ten lines."""
    spec = importlib.util.spec_from_file_location("example", example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with server:
        for name, url in (("ANTHROPIC", server.url), ("OPENAI", server.openai_url)):
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "none")
        await module.main(["One question.", "Another."])

    assert capsys.readouterr().out.count("A prompt cache keeps") == 2
    assert 1 <= len(re.findall(r"# \d", example.read_text("utf-8"))) <= 10


@pytest.mark.parametrize(
    "document", CONSOLE["list_documents"](), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_commands_in_the_documents_print_what_stands_below_them(document: Path) -> None:
    """In an empty home and a small project, each command prints what the document shows, but for
    times, paths and ids. `make docs` writes the outputs anew.
    """
    text = document.read_text("utf-8")

    assert CONSOLE["fill_blocks"](text) == text


def command_lines() -> list[pytest.ParameterSet]:
    lines = []
    for path in DOCUMENTS:
        for match in BLOCK.finditer(path.read_text("utf-8")):
            if match.group(1) == "console":
                lines += [
                    pytest.param(line[2:], id=line[2:50])
                    for line in match.group(2).splitlines()
                    if line.startswith("$ memorist")
                ]
    return lines


@pytest.mark.parametrize("line", command_lines())
def test_the_commands_in_the_documents_exist_with_their_options(line: str) -> None:
    """No option is documented that the command does not take."""
    words = shlex.split(line)[1:]
    command: click.Command = memorist_group
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    known = {"--help", *(option for parameter in command.params for option in parameter.opts)}

    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("text", blocks("toml"))
def test_the_settings_in_the_documents_are_valid(text: str) -> None:
    """Each TOML block is a settings file."""
    assert resolve_settings([SettingsLayer("document", tomllib.loads(text))]).sources


@pytest.mark.parametrize("text", blocks("json"))
def test_the_json_in_the_documents_is_json(text: str) -> None:
    """It can be copied."""
    assert msgspec.json.decode(text)


def find_keys(value: object, path: str = "") -> set[str]:
    """The path of every key in decoded JSON; of a list its first item counts for all."""
    if isinstance(value, list):
        return find_keys(value[0], path) if value else set()
    if not isinstance(value, dict):
        return set()
    below = (find_keys(each, f"{path}/{key}") for key, each in value.items())
    return {f"{path}/{key}" for key in value}.union(*below)


def test_the_report_of_a_replay_has_the_keys_that_its_page_shows(tmp_path: Path) -> None:
    """What `memorist replay --json` prints is what a program was told to expect."""
    (shown,) = [each.values[0] for each in blocks("json") if str(each.id).startswith("replay.md")]
    words = ["replay", str(CONSOLE["SESSION"]), "--out", str(tmp_path), "--json"]
    printed = find_keys(msgspec.json.decode(CliRunner().invoke(memorist_group, words).stdout))
    documented = find_keys(msgspec.json.decode(str(shown)))

    assert printed <= documented
    assert {key for key in documented - printed if "/skipped/" not in key} <= {
        "/sessions/memory/given/message",
        "/sessions/memory/given/text",
    }


def test_what_is_generated_is_up_to_date() -> None:
    """`make docs` writes it anew."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert {path.name: text for path, text in module.generated().items()} == {
        path.name: path.read_text("utf-8") for path in module.generated()
    }


def test_every_setting_says_what_it_means() -> None:
    """No row of the table is empty."""
    rows = [
        line
        for line in (ROOT / "docs" / "settings.md").read_text("utf-8").splitlines()
        if line.startswith("| `")
    ]

    assert rows
    assert not [row for row in rows if row.endswith("|  |")]


def test_each_package_says_what_stands_elsewhere() -> None:
    """Who looks in the wrong package is told by its docstring where to look; what that names is
    there.
    """
    source = ROOT / "src" / "memorist"
    for file in source.rglob("__init__.py"):
        if file.parent == source:
            continue
        text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        _, found, elsewhere = text.partition("\n\nElsewhere: ")

        assert found, f"{file} does not say what stands elsewhere"
        for name in re.findall(r"`([\w.]+)`", elsewhere):
            path = source / name.replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").exists() or (ROOT / name).is_dir(), (
                f"{file} names {name}"
            )


def list_anchors(page: Path) -> set[str]:
    """What a link may name behind `#`, as GitHub makes it of the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    """Relative links name files that exist, and headings that stand in them."""
    broken = [
        f"{path.name}: {file}#{anchor}"
        for path in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
        for file, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text("utf-8"))
        if not (path.parent / file).exists()
        or (anchor and anchor not in list_anchors(path.parent / file if file else path))
    ]

    assert not broken


NAMES_OF_OTHERS = frozenset(
    [
        "ALICE_KEY",
        "propagate_session",
        "single_turn",
        "ANTHROPIC_CUSTOM_HEADERS",
        "AnthropicPromptCachingMiddleware",
        "BaseLlm",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "ClaudeAgentOptions",
        "EventsCompactionConfig",
        "HTTPS_PROXY",
        "OLLAMA_CONTEXT_LENGTH",
        "AsyncOpenAI",
        "Authorization",
        "False",
        "None",
        "Stop",
        "True",
        "SSL_CERT_FILE",
        "anthropic_cache_messages",
        "as_tool",
        "bearer_token_env_var",
        "fQ2",
        "forkLane",
        "http_headers",
        "list",
        "litellm_settings",
        "load_memory",
        "my_module",
        "preload_memory",
        "run_async",
        "your_config",
        "your_hooks",
    ]
)
"""Names in documents that belong to another program or to an example."""


def setting_variables() -> set[str]:
    """The environment variables by which settings are given, such as `MEMORIST_MODELS__WINDOW`."""
    return {
        f"MEMORIST_{section.name}__{each.name}".upper()
        for section in msgspec.structs.fields(Settings)
        if isinstance(section.type, type) and issubclass(section.type, msgspec.Struct)
        for each in msgspec.structs.fields(section.type)
    }


def test_the_code_that_documents_name_exists() -> None:
    """Every module, function, class and setting's variable that a document names between back-ticks
    is there under that name; decisions may speak of what was.
    """
    sources = [
        path
        for part in ("src", "tests", "docs", "examples", "benchmarks", "packaging")
        for path in (ROOT / part).rglob("*")
        if path.suffix in {".py", ".toml", ".sh"}
    ]
    text = "\n".join(path.read_text("utf-8") for path in [*sources, ROOT / "Makefile"])
    words = {*re.findall(r"\w+", text), *(path.stem for path in sources), *setting_variables()}
    before_sign = re.compile(r"(?:^|[:=])[^\w\n:=]*(\w+)[^\n:=]*+(?=[:=])", re.MULTILINE)
    defined = {*re.findall(r"(?:def|class) (\w+)", text), *before_sign.findall(text)}
    classes = set(re.findall(r"class (\w+)", text))
    unknown = []
    for path in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]:
        if path.parent.name == "decisions":
            continue
        prose = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for code in re.findall(r"`([^`\n]+)`", prose):
            shaped = re.findall(r"\b(?=\w*[A-Za-z]_\w|\w*[a-z][A-Z])\w+", code)
            names = set(shaped) - words
            names |= set(re.findall(r"(\w+)\(", code)) - defined
            names |= set(re.findall(r"^[A-Z][a-z]+$", code)) - classes
            unknown += [f"{path.name}: {name}" for name in sorted(names - NAMES_OF_OTHERS)]
    assert unknown == []


def test_the_files_that_documents_name_exist() -> None:
    """A path to a module stands below the package or the project."""
    missing = [
        f"{path.name}: {name}"
        for path in DOCUMENTS
        if path.parent.name != "decisions"
        for name in re.findall(r"`((?:\w+/)+\w+\.py)`", path.read_text("utf-8"))
        if not any((ROOT / base / name).exists() for base in ("", "src/memorist"))
    ]
    assert missing == EXAMPLE_FILES


EXAMPLE_FILES = [
    "magic-docs.md: src/billing.py",
    "ranking.md: src/core/fork_lane.py",
    "session-memory.md: scripts/recount.py",
    "two-families.md: scripts/recount.py",
]
"""Files of the projects in examples."""


def test_every_document_is_in_the_lists_that_a_reader_starts_from() -> None:
    """The first page and the menu of the site name each page; decisions stand in a folder."""
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in DOCUMENTS[1:]]
    first = (ROOT / "docs" / "start-here.md").read_text("utf-8")
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = {"start-here.md", *re.findall(r"\]\(([\w/.-]+\.md)\)", first)}
    plugs = {page for page in pages if page.startswith("plugs/")}

    assert not [
        page for page in pages if page not in listed | plugs and not page.startswith("decisions/")
    ]
    assert not [page for page in pages if page not in menu]


def test_the_changelog_names_this_version() -> None:
    """The newest entry but what is not released yet is the package's version."""
    newest = re.search(
        r"^## (?!Unreleased)(\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )

    assert newest is not None
    assert newest.group(1) == memorist.__version__


def test_no_document_tells_of_a_machine() -> None:
    """Documents speak of the project alone."""
    for path in DOCUMENTS:
        assert not re.search(r"(^|[^\w])/(work|root|tmp)/|localhost:\d", path.read_text("utf-8")), (
            path.name
        )


def test_a_host_that_is_told_to_make_is_one_that_make_knows() -> None:
    """What tests and documents say behind `PLUGS=` has its pinned packages."""
    texts = [*DOCUMENTS, *(ROOT / "tests" / "plugs").glob("*.py")]
    named = {
        name
        for path in texts
        for name in re.findall(r"PLUGS=([a-z][\w-]*)", path.read_text("utf-8"))
    }

    assert {"langchain", "openai-sdk"} <= named
    assert not [
        name
        for name in sorted(named)
        if not (ROOT / "requirements" / "plugs" / f"{name}.txt").exists()
    ]


def test_each_system_of_the_two_families_is_shown() -> None:
    """All 36 rows name a page that is there, and a command whose output stands on the page."""
    text = (ROOT / "docs" / "two-families.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\d+) \|[^|]*\| \[[^\]]*\]\(([^)]*)\) \| `([^`]*)` \| [^|]+ \|$", text, re.MULTILINE
    )

    assert [int(number) for number, _, _ in rows] == list(range(1, 37))
    assert all((ROOT / "docs" / page).is_file() for _, page, _ in rows)
    assert all(f"\n$ {command}\n" in text for _, _, command in rows)
