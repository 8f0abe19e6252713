"""What a person reads of a session: no entry is cut in two, repeats another, or names a cure that
cured nothing.
"""

from __future__ import annotations

import json

import pytest

from memorist.core.messages import JsonObject
from memorist.rollouts.structural_stage_one import build_structural_result
from memorist.rollouts.structural_task_log import TaskLogBuilder
from memorist.store.rollout_rows import Rollout
from memorist.transcript_analysis.command_lines import (
    drop_printing_and_cd_commands,
    is_check_covered_by,
    truncate_command,
)
from rollouts.conftest import Talk

pytestmark = pytest.mark.covers("RO-4")

THREAD = Rollout(
    id="s", path="s.jsonl", format="memorist", size=1, modified_ns=1, updated=1,
    cwd="/home/dev/shop", repository="/home/dev/shop", branch="main",
)  # fmt: skip


def entries(talk: Talk) -> list[str]:
    """The entries of a session, of all its tasks."""
    log = TaskLogBuilder()
    for each in talk.entries:
        log.add(each)
    tasks = build_structural_result(log, THREAD).memory.tasks
    return [each.text for task in tasks for each in (*task.knowledge, *task.failures)]


def asked(words: str = "Mend the rounding of the northern tills before the sale.") -> Talk:
    return Talk().user(words).edit()


@pytest.mark.parametrize(
    ("wide", "narrow", "line", "covers"),
    [
        ("go test ./...", "go test ./till -run 'TestSum|TestTax' -v", "", True),
        ("go test ./rates -run TestRate", "go test ./till -run TestSum", "", False),
        ("corepack pnpm run format:check", "corepack pnpm run test", "", False),
        ("npm run lint", "npm run typecheck", "", False),
        ("npm test", "npx vitest run till.test.ts", "", True),
        ("pytest -k test_sum", "pytest", "FAILED tests/till.py::test_sum", True),
        ("pytest tests/rates.py", "pytest tests/till.py", "", False),
        ("pytest tests", "pytest tests/till.py", "", True),
        ("uv run pytest -q", "python -m pytest tests/till.py", "", True),
        ("mise exec -- go test ./...", "go test ./till", "", True),
        ("test/bats/bin/bats test/till.bats", "mise run test:bats -- test/till.bats", "", True),
        ("test/bats/bin/bats test/till.bats", "mise run test:bats", "", False),
        ("cargo test rounds_up", "cargo test rounds_down", "", False),
    ],
)
def test_a_check_speaks_for_what_it_runs(
    wide: str, narrow: str, line: str, *, covers: bool
) -> None:
    """For a narrower run of the same tool and for a project's own command; not for another check,
    other files, or another test, unless the failure names it.
    """
    assert is_check_covered_by(wide, narrow, line) is covers


def test_another_check_is_no_cure() -> None:
    """The format is right after it, the test that failed was not run again."""
    talk = asked().run("pnpm run test", "Error: listen EPERM 127.0.0.1", code=1).edit()
    found = entries(talk.run("pnpm run format:check", "All files are formatted").agent("Done."))

    assert not any("mended" in each for each in found)


def test_a_part_of_what_failed_is_no_cure_of_the_whole() -> None:
    """The first of two joined commands works alone; the script that was not found is not run."""
    talk = asked().run(
        "git add till.py && ./close-till.sh", "no such file: ./close-till.sh", code=1
    )
    alone = entries(talk.edit().run("git add till.py", "").agent("Added."))
    talk = asked().run(
        "git add till.py && ./close-till.sh", "no such file: ./close-till.sh", code=1
    )
    whole = entries(
        talk.edit().run("git add till.py && ./close-till.sh", "closed").agent("Closed.")
    )

    assert not any("mended" in each for each in alone)
    assert any("close-till" in each and "mended" in each for each in whole)


@pytest.mark.parametrize("tail", ["", " | sed -n '1,80p'", " | head -40"])
def test_what_worked_in_between_is_the_cure_of_the_same_command(tail: str) -> None:
    """Also where its output was cut to some lines, for the eye alone."""
    talk = asked().run("tillctl skills get open", "SyntaxError: no export named 'till'", code=1)
    talk = talk.run("bun run build", "built").run(f"tillctl skills get open{tail}", "# Opening")
    found = entries(talk.agent("The skill can be read."))

    assert any("mended after `bun run build`: the same command passed" in each for each in found)


def test_a_check_of_which_some_lines_were_printed_cured_nothing() -> None:
    """The exit status is that of `sed`, and the lines may end before the failure."""
    talk = asked().run("npm test", "Error: till is shut", code=1).edit()
    found = entries(talk.run("npm test | sed -n '1,2p'", "> shop@1.0.0 test").agent("Done."))

    assert not any("mended" in each for each in found)


def test_the_error_is_named_and_no_warning_that_came_before_it() -> None:
    """A program that warns of a missing key for each line fails of something else."""
    output = (
        "2026-07-01T20:38:22.328125Z  WARN till::keys: Error resolving key 'TAX': file not found\n"
        "[INFO] missing: rates.json\nlibexec/suite: line 314: parallel: command not found"
    )
    found = entries(asked().run("mise run tills", output, code=1).agent("Some tool is missing."))

    assert any("parallel: command not found" in each for each in found)


def test_the_same_command_without_a_change_is_no_cure() -> None:
    """It failed, and then it did not: that teaches nothing."""
    talk = asked().run("npm run e2e-shop", "Error: socket hang up", code=1)
    found = entries(talk.run("npm run e2e-shop", "ok").agent("The shop's run is through."))

    assert not any("mended" in each for each in found)


@pytest.mark.parametrize(
    "command", ["tillctl --help", "tillctl help sync", ". /tmp/till-helpers.sh"]
)
def test_asking_a_program_about_itself_fails_at_nothing(command: str) -> None:
    """Nor does a script that is gone tomorrow."""
    found = entries(asked().run(command, "error: usage: tillctl sync <from> <to>", code=1))

    assert not any("failed" in each for each in found)


@pytest.mark.parametrize(
    ("command", "limit", "shown"),
    [
        ("pytest -q", 60, "pytest -q"),
        ('git commit -m "round; the till now asks for x', 60,
         'git commit -m "round; the till now asks for x …"'),
        ("go test ./till -run 'TestSum|TestTax|TestRoundsUp' -v", 40,
         "go test ./till -run 'TestSum|TestTax|Tes …'"),
        ("tillctl sync --from north --to south --keep", 30, "tillctl sync --from north --to …"),
    ],
)  # fmt: skip
def test_a_cut_command_ends_between_words_and_closes_its_quotation(
    command: str, limit: int, shown: str
) -> None:
    """What stands in a quotation never reads as a command of its own."""
    assert truncate_command(command, limit) == shown


def test_a_message_in_quotes_is_no_step() -> None:
    """Words of a long commit message stay out of the list of steps."""
    message = f"feat: round each sum{' and each tax of every till' * 8}; the action now requires it"
    talk = asked().run(f'git commit -m "{message}"', "[main 1a2b3c4] feat: round each sum")
    talk.run("npx markdownlint-cli2", "0 errors").run("git push origin rounding", "rounding -> x")
    steps = [each for each in entries(talk.agent("It is in.")) if each.startswith("Steps")]

    assert not any("the action" in each for each in steps)


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        ('echo "=== lint ==="; npm run lint', "npm run lint"),
        ("cd shop && npm test && echo done", "npm test"),
        ("npm test && git push", "npm test && git push"),
        ("echo done", "echo done"),
        ("echo 'a; b' && make", "make"),
    ],
)
def test_what_only_prints_is_no_part_of_a_command(command: str, rest: str) -> None:
    """Unless nothing else is there."""
    assert drop_printing_and_cd_commands(command) == rest


def test_narrow_checks_go_with_the_wide_one() -> None:
    """One whole run says what its parts say."""
    talk = asked().run("go test ./till -run TestSum", "ok  shop/till 0.1s")
    found = entries(talk.run("go test ./...", "ok  shop/till 0.1s").agent("All pass."))

    assert not any("TestSum" in each for each in found)
    assert any("`go test ./...`" in each for each in found)


OPENING = 'gh pr create --repo o/shop --head rounding --title "Round each sum" --body "Round it"'


def test_a_pull_request_stands_with_its_title_branch_and_address() -> None:
    """A later session looks for it."""
    found = entries(asked().run(OPENING, "https://github.com/o/shop/pull/58\n").agent("Opened."))

    assert (
        "Opened pull request #58 from `rounding`: “Round each sum” https://github.com/o/shop/pull/58"
        in found
    )


def test_a_pull_request_whose_address_comes_later_is_found_too() -> None:
    """A client runs the command on and shows the answer with its next call."""
    talk = asked().call("exec_command", {"cmd": OPENING}, "Process running with session ID 3")
    talk.call("write_stdin", {"session_id": 3, "chars": ""}, "https://github.com/o/shop/pull/58")

    assert any("#58" in each for each in entries(talk.agent("Opened.")))


def test_a_pull_request_that_was_not_opened_is_no_entry() -> None:
    """The address that is seen next is another's."""
    talk = asked().run(OPENING, "a pull request already exists", code=1)
    talk.run("gh pr view 12", "https://github.com/o/shop/pull/12")

    assert not any("Opened pull" in each for each in entries(talk.agent("It was there.")))


@pytest.mark.parametrize(
    "said",
    [
        "Committed as `19780ba`.",
        "Done. Committed as `19780ba` on `rounding`.",
        "8 files changed, 185 insertions, 8 deletions.",
        "12 files changed, 1 insertion(+), 30 deletions(-)",
        "On a clean till it works.",
        "I can write up what the southern tills do with the sums of their lines.",
        "The sums of the southern tills have a page of their own, if you want to open it.",
        "Happy to rephrase the question about the southern tills if it was framed wrong.",
        "It is worth a quick check whether the southern tills print their sums twice.",
        "Reload the report of the southern tills in your browser, the page has the sums now.",
        "I can't clear the history of the southern tills myself; type the command for it.",
        "The changes to the southern tills remain unstaged, as they are not part of this.",
        "Let me know whether the tills of the southern region should round in the same way.",
    ],
)
def test_what_says_nothing_later_is_no_entry(said: str) -> None:
    """A hash alone, a few words without their subject, an offer."""
    talk = asked().agent("The tills round each line of their report.")
    talk.user("Does that hold for the southern tills, which are older?").agent(said)

    assert not any(said[:20] in each for each in entries(talk.user("Next: the tax tables.").edit()))


@pytest.mark.parametrize(
    "said",
    [
        "The staged set matches the intended PR of the southern tills.",
        "The final diff looks scoped to the southern tills and their tests.",
        "I have the integration path for the southern tills and their sums now.",
        "The southern tills are available and the branch name `sums-of-tills` is free.",
        "Step 5: add tests for the sums of the southern tills and their lines.",
    ],
)
def test_how_far_the_agent_had_come_is_no_entry(said: str) -> None:
    """What came of it stands in its last words and in what the session proves."""
    talk = asked().agent(said).edit().agent("The tills round each line of their report.")

    assert not any(said[:30] in each for each in entries(talk))


def test_how_far_the_agent_had_come_stays_with_its_cause() -> None:
    """An error, a condition, a reason."""
    said = "The suite of the southern tills passes once it can bind the ports 4017 and 4018."
    talk = asked().agent(said).edit().agent("The tills round each line of their report.")

    assert any("4017" in each for each in entries(talk))


def test_the_state_on_the_way_is_left_out_and_the_last_one_kept() -> None:
    """Not pushed yet: so it was then, and so it is at the end."""
    talk = asked().agent("The branch rounding-north is not pushed yet, the tills wait for it.")
    talk.user("Fine. Now the tax tables of the tills, as well.").edit()
    found = entries(talk.agent("The branch tax-tables-north is not pushed yet, as you wished."))

    assert not any("rounding-north" in each for each in found)
    assert any("tax-tables-north" in each for each in found)


@pytest.mark.parametrize(
    "said",
    [
        "The tills of the north look right, but six checks of the tills are still pending.",
        "PR status of the tills of the north: clean and mergeable.",
        "There are no failing CI checks for the tills of the north by now.",
        "The tills of the north: all is pushed, and the working tree is clean.",
        "I found the tables of the northern tills, `north.json`, currently untracked.",
    ],
)
def test_what_ends_by_itself_is_no_lesson_even_at_the_end(said: str) -> None:
    """A later session finds another state."""
    talk = asked().agent(f"{said} The till rounds twice because tax.py rounds each line first.")
    found = entries(talk)

    assert any("rounds twice" in each for each in found)
    assert not any(said[:30] in each for each in found)


@pytest.mark.parametrize(
    "words",
    [
        "can you explain this line of the northern report: > till 7 - 40.05 rounded to 40.00",
        "ok make a pr for it, reply back when done",
        "can we group the changes into meaningful commits?",
    ],
)
def test_a_request_whose_answer_alone_teaches_is_left_out(words: str) -> None:
    """To explain, or what any session is asked on the way."""
    found = entries(asked().agent("Done.").user(words).agent("The till rounds to five cents."))

    assert not any(words[:20] in each for each in found)


def test_a_piece_of_a_command_is_no_command() -> None:
    """A variable is set to what a command says: its value ends where its quotation does."""
    talk = asked()
    for _ in range(2):
        talk = talk.run('BASE="$(tillctl rev-parse north)"; tillctl close "$BASE"', "closed")
    found = entries(talk.agent("The tills are closed, the north first."))

    assert 'Ran: `tillctl close "$BASE"`' in found


def test_a_request_that_was_sent_again_stands_once() -> None:
    """In its longer form."""
    talk = Talk().user("Round the sums of the tills of the north to five cents").edit()
    talk.user(
        "Round the sums of the tills of the north to five cents for all of the regions"
    ).edit()
    found = [each for each in entries(talk.agent("Done.")) if "five cents" in each]

    assert len(found) == 1
    assert found[0].count("five cents") == 1


def test_words_that_agreed_are_no_request_beside() -> None:
    """They stand with what they agreed to."""
    talk = asked().agent("I would round each line, not the sum. Shall I do that?")
    talk.user("yes, do that and leave the taxes").edit()
    found = [each for each in entries(talk.agent("Done.")) if "leave the taxes" in each]

    assert len(found) == 1
    assert "proposal" in found[0]


@pytest.mark.parametrize("words", ["okay so for the tills, look at how they add", "ok now the tax"])
def test_an_ok_that_turns_to_something_else_agrees_to_nothing(words: str) -> None:
    """The word only opens the next request."""
    talk = asked().agent("They would come back; I could add them to the list of ignored files.")

    assert not any("proposal" in each for each in entries(talk.user(words).edit().agent("Done.")))


def test_an_answer_stands_with_its_question() -> None:
    """Also where the client's result names none."""
    given = {"questions": [{"id": "a", "question": "Which rounding should the tills use?"}]}
    talk = asked().call(
        "request_user_input", given, '{"answers": {"a": {"answers": ["Half to even"]}}}'
    )

    assert "The user answered “Which rounding should the tills use?” → Half to even" in entries(
        talk.edit().agent("Done.")
    )


def test_answers_belong_to_the_questions_that_they_name() -> None:
    """Codex gives them by id, in any order; an option may come with a note, and a question back
    decides nothing.
    """
    questions = [
        {"id": "callers", "question": "Where do the callers of the till live?"},
        {"id": "shape", "question": "What shape has the address of the till?"},
        {"id": "rounding", "question": "Which rounding should the till use?"},
    ]
    answers = {
        "rounding": {"answers": ["Half to even", "user_note: as in the report"]},
        "shape": {"answers": ["A name of its own"]},
        "callers": {"answers": ["What would that mean for the code?"]},
    }
    talk = asked().call(
        "request_user_input", {"questions": questions}, json.dumps({"answers": answers})
    )

    found = [each for each in entries(talk.edit().agent("Done.")) if "answered" in each]

    assert sorted(found) == [
        "The user answered “What shape has the address of the till?” → A name of its own",
        "The user answered “Which rounding should the till use?” → Half to even; as in the report",
    ]


@pytest.mark.parametrize(
    "words",
    ["address pr feedback and failing checks", "Implement the plan.", "yes, please merge it"],
)
def test_what_any_session_is_asked_on_the_way_is_no_entry(words: str) -> None:
    """It says nothing of this one."""
    talk = asked().agent("The tills round each line of their report.")

    assert not any(words in each for each in entries(talk.user(words).edit().agent("Done.")))


def test_a_sentence_whose_beginning_is_elsewhere_is_no_entry() -> None:
    """Nor one that ends before what it announces."""
    talk = asked().agent(
        "The tills round each line.\n\nrather than the sum of the northern report."
    )
    talk.user("And how do the southern tills do it, which are older?")
    found = entries(talk.agent("The southern tills of the older kind cover these cases:"))

    assert not any("rather than the sum" in each and "The tills" not in each for each in found)
    assert not any("cover these cases" in each for each in found)


def test_a_script_typed_into_a_command_fails_for_nobody_later() -> None:
    """Its slips are those of the moment."""
    found = entries(asked().run("tillctl list | python3 -c 'import x'", "SyntaxError: no", code=1))

    assert not any("SyntaxError" in each for each in found)


def test_the_same_checks_stand_once_in_a_session() -> None:
    """Not again with each of its tasks."""
    talk = asked().run("pnpm lint", "ok").run("pnpm test", "3 passed").agent("Done.")
    talk.user("Add a page that lists the sums of the northern tills by customer and by day.")
    talk.edit("/home/dev/shop/page.py").run("pnpm lint", "ok").run("pnpm test", "3 passed")
    found = [each for each in entries(talk.agent("It is in.")) if "`pnpm test`" in each]

    assert len(found) == 1


def test_checks_of_several_tasks_are_one_entry() -> None:
    """What a project asks of every change stands together; a run on one file is left out."""
    talk = asked().run("pnpm run check-types", "ok").run("pnpm lint", "ok").agent("Done.")
    talk.user("Add a page that lists the sums of the northern tills by customer and by day.")
    talk.edit("/home/dev/shop/page.py").run("pnpm vitest run till.test.ts", "1 passed")
    talk.run("pnpm test", "3 passed")
    found = entries(talk.agent("It is in."))

    assert "Checks passed with: `pnpm run check-types`, `pnpm lint`, `pnpm test`" in found


def test_a_gate_of_several_commands_comes_before_its_parts() -> None:
    """A project's own chain of checks is named whole."""
    gate = "uv run ruff check src tests && uv run mypy src && uv run pytest tests"
    talk = asked().run("uv run pytest tests/tills", "2 passed").run(gate, "3 passed").agent("Done.")

    assert next(each for each in entries(talk) if each.startswith("Tests ran with: ")).startswith(
        f"Tests ran with: `{gate}`"
    )


@pytest.mark.parametrize(
    ("tool", "asks", "given", "running", "ended"),
    [
        (
            "exec_command",
            "write_stdin",
            {"session_id": 3, "chars": ""},
            "Process running with session ID 3",
            "Process exited with code {code}\nOutput:\n{text}",
        ),
        (
            "exec_command",
            "wait",
            {"cell_id": "3"},
            "Script running with cell ID 3",
            'Script completed\n{{"chunk_id":"a","exit_code":{code},"output":"{text}"}}',
        ),
        (
            "Bash",
            "BashOutput",
            {"bash_id": "3"},
            "Command running in background with ID: 3",
            "<status>completed</status>\n<exit_code>{code}</exit_code>\n{text}",
        ),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_command_in_the_background_ends_as_a_later_call_says(
    tool: str, asks: str, given: JsonObject, running: str, ended: str, code: int
) -> None:
    """A client puts there what takes longer than some seconds: the tests."""
    key = "command" if tool == "Bash" else "cmd"
    text = "error: the northern till is a cent off" if code else "3 passed"
    talk = asked().call(tool, {key: "pnpm test"}, running).call(asks, given, running)
    talk.call(asks, given, ended.format(code=code, text=text))
    found = [each for each in entries(talk.agent("Done.")) if "pnpm test" in each]

    assert len(found) == 1
    assert found[0].startswith("`pnpm test` failed" if code else "Tests ran with: `pnpm test`")


def test_a_command_that_was_interrupted_proves_nothing() -> None:
    """Control-C ends it, and what it says then is no result."""
    talk = asked().call("exec_command", {"cmd": "pnpm test"}, "Process running with session ID 3")
    talk.call("write_stdin", {"session_id": 3, "chars": "\x03"}, "Process exited with code 0")

    assert not any("pnpm test" in each for each in entries(talk.agent("Stopped.")))


def test_what_stands_among_the_preferences_is_no_request_beside() -> None:
    """The words are read once."""
    talk = asked(
        "Always round the sums of the northern tills to five cents. Begin with the report."
    )
    log = TaskLogBuilder()
    for each in talk.agent("Done.").entries:
        log.add(each)
    (task,) = build_structural_result(log, THREAD).memory.tasks

    assert any("five cents" in each.text for each in task.preferences)
    assert not any("five cents" in each.text for each in (*task.knowledge, *task.failures))


@pytest.mark.parametrize(
    "words",
    [
        "you wrote: we should always search backwards from the date of the till. What is that?",
        "Ensure the till exists, and avoid returning a promise from the",
        'Use "tillctl auth [command] --help" for more information about a command.',
        "I need to use the old tills somehow, as we did with the ones of the north.",
        "If you are ready, just ask me to do the validation quickly.",
    ],
)
def test_what_is_not_the_users_own_or_only_for_now_is_no_preference(words: str) -> None:
    """What the user gives back to ask about it, what a paste broke off or a program printed, and
    what is needed in this session.
    """
    log = TaskLogBuilder()
    for each in asked().agent("Done.").user(words).edit().agent("Done, too.").entries:
        log.add(each)

    assert not any(task.preferences for task in log.tasks)


@pytest.mark.parametrize(
    "command",
    [
        "pip show tillctl",
        "golangci-lint version",
        "cargo tree",
        "pnpm ls mocha",
        "yarn why vitest",
        "brew list shellcheck",
    ],
)
def test_a_run_that_only_tells_is_no_check(command: str) -> None:
    """It installs and checks nothing."""
    found = entries(asked().run(command, "1.2.3").agent("It is there."))

    assert not any(command in each for each in found)


def test_a_pasted_terminal_is_no_request() -> None:
    """Nobody says anything in it."""
    pasted = "❯ tillctl sync north\nerror: the till of the north did not answer in time\n"
    talk = asked().agent("Done.").user(pasted).edit().agent("It answers now.")

    assert not any("❯" in each for each in entries(talk))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (
            "The tills are not shown on http://localhost:8080/config yet",
            "The tills are not shown on localhost:8080/config yet",
        ),
        (
            "Why did [https://git.example/o/shop/runs/12?pr=3](https://git.example/o/shop/runs/12?pr=3) fail",
            "Why did shop/runs/12 fail",
        ),
        (
            "Why did [the nightly run](https://git.example/o/runs/12) fail",
            "Why did the nightly run fail",
        ),
    ],
)
def test_an_address_in_a_name_is_short_and_whole(words: str, name: str) -> None:
    """Its host and port, or its end; a link of Markdown once."""
    log = TaskLogBuilder()
    for each in asked(words).agent("It is mended: the tills had no port.").entries:
        log.add(each)
    (task,) = build_structural_result(log, THREAD).memory.tasks

    assert task.name == name


def test_a_tag_around_the_agents_plan_is_no_word_of_it() -> None:
    """Codex puts one around the plan that it proposes."""
    plan = "<proposed_plan>\nThe tills round each line of their report.\n</proposed_plan>"
    found = entries(asked().agent(plan))

    assert any("round each line" in each for each in found)
    assert not any("proposed_plan" in each for each in found)


def test_a_name_to_be_filled_in_is_among_the_users_words() -> None:
    """`<till name>` is no tag: the words around it stay whole, and the user's."""
    words = "Instead of “ready” it should print “<till name> is ready” for each of the tills."
    found = entries(asked().agent("Done.").user(words).edit().agent("It prints that now."))

    assert any(
        each.startswith("The user put it right: ") and "<till name>" in each for each in found
    )


@pytest.mark.covers("SF-2")
def test_a_short_token_of_a_command_is_no_keyword() -> None:
    """The option before it shows what it is; a keyword stands alone."""
    words = "Run deploy --token s3cr3tX9 --client-secret Q7w8E9 --host api.example.com for tills."
    log = TaskLogBuilder()
    for each in asked(words).agent("The tills are deployed by deploy.sh.").entries:
        log.add(each)
    result = build_structural_result(log, THREAD)

    assert "api.example.com" in result.memory.tasks[0].keywords
    assert not {"cr3tX9", "s3cr3tX9", "Q7w8E9"} & {
        word for task in result.memory.tasks for word in task.keywords
    }


def test_a_plan_of_the_client_is_no_keyword() -> None:
    """Its name is made of words by chance."""
    talk = asked().edit("/home/dev/.claude/plans/giggly-doodling-toast.md")
    log = TaskLogBuilder()
    for each in talk.agent("The tills round each line of their report.").entries:
        log.add(each)
    (task,) = build_structural_result(log, THREAD).memory.tasks

    assert task.keywords
    assert "giggly-doodling-toast.md" not in task.keywords
