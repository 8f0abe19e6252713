"""What `memorist memory` says after each step is true, in orders that nobody plans."""

from __future__ import annotations

import pytest

from cli.test_memory import Shell, shell
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.engine.engine import Memorist
from memorist.errors import InputError

__all__ = ["shell"]

TEXT = "---\nname: {0}\ndescription: {1}\ntype: feedback\n---\n\n{1}\n"


def propose(shell: Shell, name: str, words: str) -> None:
    """Let an agent propose a memory, which waits."""
    with Memorist(home=shell.home) as engine:
        data = TEXT.format(name, words).encode()
        change = MemoryChange(path=f"{name}.md", before=None, after=data)
        why = ChangeReason(actor="agent", what=f"add: {words}")
        engine.memory(str(shell.project)).add_proposals([change], why, "an agent ran the command")


@pytest.mark.covers("AM-10")
def test_what_was_accepted_waits_again_once_that_is_taken_back(shell: Shell) -> None:
    """Accepted, taken back and accepted again, a new memory is there, and so is the question whether
    one goes: it was gone for good.
    """
    propose(shell, "yarn", "Use yarn for the web app")
    for _ in range(2):
        shell("memory", "inbox", "accept", "1")
        said = shell("memory", "undo", "--yes").stdout
        assert "accepted: add: Use yarn for the web app" in said
        assert "accepted: accepted" not in said
        assert "waits again" in said
        assert shell.json("memory", "list")["memories"] == []
        assert "you accepted it, and took that back" in shell("memory", "inbox").stdout
    shell("memory", "inbox", "accept", "1")
    assert [each["name"] for each in shell.json("memory", "list")["memories"]] == ["yarn"]

    shell.add("Never push to main")
    shell.add("We push straight to main")
    shell("memory", "inbox")
    shell("memory", "inbox", "accept", "1")
    shell("memory", "undo", "--yes")
    assert "delete" in shell("memory", "inbox").stdout
    assert "accepted: forget: Never push to main" in shell("memory", "log").stdout
    assert len(shell.json("memory", "list")["memories"]) == 3


def test_what_you_say_yourself_waits_no_longer(shell: Shell) -> None:
    """An agent's proposal goes from the inbox when the user says the same: to accept it changed
    nothing.
    """
    propose(shell, "deno", "Use deno for scripts")
    propose(shell, "bun", "Use bun for scripts")
    shell("memory", "add", "Use deno for scripts!")

    assert [each["path"] for each in shell.json("memory", "inbox")["waiting"]] == ["bun.md"]


def test_new_words_for_what_waits_keep_its_header(shell: Shell) -> None:
    """`--text` took the words for the whole file: the memory had no kind and no name."""
    propose(shell, "scripts", "Use deno for scripts")

    assert "as you changed it" in shell("memory", "inbox", "edit", "1", "--text", "Use bun").stdout

    (row,) = shell.json("memory", "list")["memories"]
    assert (row["name"], row["kind"], row["description"]) == ("scripts", "feedback", "Use bun")
    assert "deno" not in shell("memory", "show", "scripts").stdout


def test_who_asks_for_what_waits_is_told_so(shell: Shell) -> None:
    """`show`, `why` and `forget` said that no memory has the name; and where a proposal comes from
    is said in words.
    """
    propose(shell, "deno", "Use deno for scripts")

    for command in ("show", "why", "forget"):
        error = shell("memory", command, "deno").exception
        assert isinstance(error, InputError)
        assert "deno.md waits: memorist memory inbox show" in str(error)
    assert "from an agent's tool" in shell("memory", "inbox").stdout


@pytest.mark.covers("AM-12")
def test_what_holds_everywhere_is_named_with_its_folder(shell: Shell) -> None:
    """`why`, `show` and a list of several name `everywhere/…`; a project's own language says that
    the other one holds elsewhere; and with `auto_memory.everywhere` off that is the answer.
    """
    shell("memory", "add", "--everywhere", "Answer in German")
    shell("memory", "add", "--everywhere", "Answer in Dutch")

    assert "everywhere/answer-in-dutch.md is" in shell("memory", "why", "dutch").stdout
    assert "it replaces everywhere/answer-in-german.md" in shell("memory", "why", "dutch").stdout
    assert "everywhere/answer-in-dutch.md" in shell("memory", "show", "in-german").output
    assert "everywhere/answer-in-dutch.md says otherwise for your other projects" in (
        shell("memory", "add", "Answer in English").stdout
    )
    assert "everywhere/answer-in-dutch.md" in str(shell("memory", "show", "answer").exception)
    shell("config", "set", "auto_memory.everywhere", "false")
    error = shell("memory", "why", "everywhere/answer-in-dutch.md").exception
    assert "auto_memory.everywhere is off" in str(error)


def test_a_rule_in_the_language_of_answers_replaces_that_of_another(shell: Shell) -> None:
    """Italian, Dutch and Polish are one choice with the others, whichever language names them."""
    for text in ("Answer in English", "Antworte auf Niederländisch", "Réponds en polonais"):
        shell("memory", "add", text)

    (row,) = shell.json("memory", "list")["memories"]
    assert row["description"] == "Réponds en polonais"


def test_what_waits_is_named_where_all_is_forgotten(shell: Shell) -> None:
    """It is no memory yet and stays: who forgot all for good thought that nothing was left."""
    propose(shell, "deno", "Use deno for scripts")
    shell.add("Deploy at noon")

    said = [
        shell("memory", "forget", *words, "--yes").stdout
        for words in (("--all",), ("--all", "--hard"), ("--about", "deno"), ("--about", "noon"))
    ]

    assert ["1 change of the inbox not touched" in each for each in said] == [True] * 3 + [False]
    assert "Use deno for scripts" in shell("memory", "inbox").stdout


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_what_is_named_twice_is_decided_once(shell: Shell, verb: str) -> None:
    """By its number and its id, or typed twice: it failed after it had done what was asked."""
    propose(shell, "deno", "Use deno for scripts")
    (waiting,) = shell.json("memory", "inbox")["waiting"]

    done = shell("memory", "inbox", verb, "1", waiting["id"], "1")

    assert done.exit_code == 0
    assert done.stdout.count("deno.md") == 1
    assert "nothing waits" in shell("memory", "inbox").stdout


def test_the_log_names_no_other_program_after_a_memory_is_forgotten_for_good(shell: Shell) -> None:
    """The index is made anew, and was said to be added by another program."""
    shell.add("Deploy at noon")
    shell.add("Use deno for scripts")

    for name in ("deploy-at-noon", "use-deno-for-scripts"):
        shell("memory", "forget", name, "--hard", "--yes")
        said = shell("memory", "log").stdout
        assert "other" not in said, said
        assert name not in said
