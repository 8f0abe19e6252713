"""What the person asks and what the scripted model does in the first sample session. The outputs
are not here: the tools really run.
"""

from __future__ import annotations

from invoice_patches import (
    CHANGELOG_ENTRY,
    EMPTY_SUMS,
    EXACT_PRODUCTS,
    EXACT_TESTS,
    HALF_UP,
    NO_FLOAT_TYPES,
    ONE_READER,
    RECOUNT,
    ROUND_EACH_LINE,
)

from memorist.testing import CallTool, ReplyParts, Say, Step, Think

PLAN = (
    "Reproduce the cent on invoice 2131",
    "Find where the half cent is lost",
    "Fix it, public names unchanged",
    "Run the tests and print invoice 2131 again",
)


def run(words: str, command: str) -> Step:
    """Say what for, and run a command."""
    return ReplyParts(
        parts=(Say(text=words), CallTool(name="exec_command", input={"cmd": command}))
    )


def both(words: str, *commands: str) -> Step:
    """Say what for, and run several commands at once."""
    return ReplyParts(
        parts=(
            Say(text=words),
            *(CallTool(name="exec_command", input={"cmd": command}) for command in commands),
        )
    )


def patch(words: str, text: str) -> Step:
    """Say what for, and apply a patch."""
    return ReplyParts(
        parts=(
            Say(text=words),
            CallTool(
                name="apply_patch", arguments=f"*** Begin Patch\n{text}*** End Patch", custom=True
            ),
        )
    )


def plan(done: int, why: str) -> CallTool:
    """Show the plan with so many steps done."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
    steps = [{"step": step, "status": state} for step, state in zip(PLAN, states, strict=False)]
    return CallTool(name="update_plan", input={"explanation": why, "plan": steps})


ASK_FIX = """\
The totals on our invoices are sometimes off by a cent. Two customers complained this month; on invoice 2131 \
(data/invoice_2131.csv) we charged 32.68 EUR and the customer's own software says 32.69. Please find out why and fix it. \
Do not change the names of public functions, the CSV files of customers depend on them."""

FIX: tuple[Step, ...] = (
    both(
        "I'll look at the project first: its files, its rules and its history.",
        "git log --oneline; git ls-files | xargs wc -l",
        "cat README.md CHANGELOG.md",
    ),
    run("Now the package itself.", "cat invoices/__init__.py invoices/money.py invoices/lines.py"),
    run(
        "And the totals, with what feeds them and what prints them.",
        "cat invoices/invoice.py invoices/csv_import.py invoices/summary.py",
    ),
    plan(0, "Invoice 2131 is the example; the README says that half a cent goes up."),
    both(
        "Let me reproduce the complaint and see what the tests say.",
        "python -m invoices data/invoice_2131.csv; cat data/invoice_2131.csv",
        "python -m unittest",
    ),
    run(
        "The program says 32.68 as you wrote, and `test_half_a_cent_goes_up` fails in the same "
        "way. Let me see every place that rounds.",
        "grep -n 'round' -r invoices --include=*.py; cat tests/test_totals.py tests/test_money.py",
    ),
    ReplyParts(
        parts=(
            Think(
                text="Long sums of products collect small errors. Rounding each line first "
                "might keep them out of the sum."
            ),
            plan(1, "Reproduced. First idea: small errors of the lines add up in the sum."),
        )
    ),
    patch(
        "My first guess is that errors of single lines add up, so I round each line before it "
        "is added.",
        ROUND_EACH_LINE,
    ),
    both(
        "Does that hold?",
        "python -m invoices data/invoice_2131.csv | tail -3",
        "python -m unittest",
    ),
    run(
        "Invoice 2131 now says 32.69, but only by luck: `test_half_a_cent_goes_up` still "
        "fails, and "
        "`test_lines_are_added_before_rounding` fails too, "
        "because rounding each line breaks the rule in the README. So the guess was wrong. I "
        "take one amount apart instead.",
        'python -c "from decimal import Decimal; import sys; print(Decimal(2.675)); '
        'print(round(2.675, 2), round(2.665, 2), round(0.125, 2))"',
    ),
    run(
        "That is the cause: 2.675 cannot be held by a binary float, it is really 2.67499…, so "
        "it is below half a cent before anything "
        "is rounded. And `round` "
        "sends exact halves to the even neighbour: 0.125 became 0.12. Let me check that "
        "Decimal alone would not be enough.",
        "python -c \"from decimal import Decimal as D, ROUND_HALF_UP; c = D('0.01'); "
        "print([str(D(t).quantize(c)) for t in ('2.675', '2.665', '0.125')]); "
        "print([str(D(t).quantize(c, rounding=ROUND_HALF_UP)) for t in ('2.675', '2.665', "
        "'0.125')])\"",
    ),
    run(
        "Right: Decimal rounds half to even unless it is told ROUND_HALF_UP. I take the wrong "
        "guess back first.",
        "git checkout invoices/invoice.py && git status --short",
    ),
    plan(2, "Cause found: binary floats, and half-even rounding. Both have to go."),
    patch("Now the fix: `round_cents` works in Decimal and rounds half a cent up.", HALF_UP),
    patch("The products and sums must be exact before they get there.", EXACT_PRODUCTS),
    plan(3, "Fixed in money.py, lines.py and invoice.py."),
    both(
        "Tests and the invoice again.",
        "python -m unittest",
        "python -m invoices data/invoice_2131.csv",
    ),
    plan(4, "All 27 tests pass and invoice 2131 comes to 32.69."),
    Say(
        text="Fixed. The totals were off for two reasons that came together: amounts were "
        "binary floats (2.675 is held as 2.67499…), "
        "and `round` sends an exact half "
        "cent to the even neighbour, while your rule is that half a cent goes up. "
        "`round_cents`, `line_net` and the totals now work in "
        "`Decimal` with "
        "`ROUND_HALF_UP`; invoice 2131 comes to 32.69 EUR and all 27 tests pass. No public "
        "name has changed. The CSV import still reads "
        "numbers as floats and "
        "they are converted by way of their text; that is exact for what customers send."
    ),
)

ASK_NO_FLOATS = """\
No floats anywhere in that module please, also not in parsing. And from now on run the whole suite with \
`python -m unittest -v` before you say done. Then note it in the changelog and commit."""

NO_FLOATS: tuple[Step, ...] = (
    run(
        "Understood: no floats at all, and the whole suite with -v before I say done. Where "
        "are they left?",
        r"grep -nE 'float|[0-9]\.[0-9]|str\(' -r invoices --include=*.py",
    ),
    patch(
        "First the parsing of amounts and the types of a line, which then need no conversion "
        "any more.",
        NO_FLOAT_TYPES,
    ),
    run("Whole suite.", "python -m unittest -v"),
    run(
        "The traceback says `unsupported operand type(s) for *: 'float' and "
        "'decimal.Decimal'`: the CSV import still makes quantity, "
        "discount and VAT with `float`. "
        "And words in a price raise `decimal.InvalidOperation` now, which is no ValueError; "
        "callers rely on ValueError.",
        "grep -n 'float' invoices/csv_import.py; python -c \"import decimal; "
        'print(decimal.InvalidOperation.__mro__)"',
    ),
    patch(
        "Both mended at the source: one reader for numbers, with the error that callers know.",
        ONE_READER,
    ),
    run("Whole suite again.", "python -m unittest -v"),
    run(
        "One is left: no lines make `sum` start from the int 0, and an int has no `quantize`. "
        "It was hidden as long as `round_cents` "
        "took anything.",
        "grep -n 'sum(' invoices/invoice.py",
    ),
    patch("An empty sum has to start from a Decimal as well.", EMPTY_SUMS),
    patch(
        "And tests that hold it: invoice 2131 itself, exact halves, and that no float comes "
        "back into the package.",
        EXACT_TESTS,
    ),
    run("Whole suite before anything else.", "python -m unittest -v"),
    both(
        "All green. I read the whole change once more before it is committed.",
        "git diff",
        "cat invoices/money.py invoices/csv_import.py",
    ),
    patch("It reads well. Now the changelog.", CHANGELOG_ENTRY),
    run(
        "And the commit.",
        "git add -A && git commit -m 'Make totals exact: Decimal instead of floats, half a "
        "cent goes up'",
    ),
    Say(
        text="Done, after the whole suite with `python -m unittest -v`: 30 tests pass. There "
        "is no float left in the package: amounts, "
        "quantities, discounts and VAT "
        "rates are read straight into `Decimal` by the new `parse_number`, which raises "
        "ValueError as before for what is no number. "
        "`tests/test_exact.py` holds invoice 2131 at 32.69 EUR and keeps floats out. The "
        "changelog has an entry for 1.4.1, and it is "
        "committed."
    ),
)

ASK_TABLE = """\
Good. For the release mail: count again every invoice we sent last quarter (data/sent_q3.csv, what we charged is in \
data/charged_q3.csv), then give me \
a short table of what changed and say what is still open."""

TABLE: tuple[Step, ...] = (
    both(
        "First what the two files look like.",
        "wc -l data/sent_q3.csv data/charged_q3.csv; head -40 data/sent_q3.csv",
        "head -5 data/charged_q3.csv",
    ),
    patch(
        "A small script that counts them with the package itself; it may stay, other quarters "
        "will be asked for.",
        RECOUNT,
    ),
    run(
        "Count.",
        "touch scripts/__init__.py && python -m scripts.recount data/sent_q3.csv "
        "data/charged_q3.csv",
    ),
    run(
        "Three of sixty, each a cent too low. To be sure that the script finds the old fault "
        "and nothing else, the same with the code "
        "of the commit before: "
        "there it must find none.",
        "git worktree add -q ../before HEAD~1 && cp -r scripts ../before/ && (cd ../before && "
        "python -m scripts.recount "
        "data/sent_q3.csv data/charged_q3.csv | "
        "grep -c off; for n in 2131 2144; do python -m invoices data/invoice_$n.csv | tail -1; "
        "done); git worktree remove --force "
        "../before; "
        "for n in 2131 2144; do python -m invoices data/invoice_$n.csv | tail -1; done",
    ),
    both(
        "As it should be. Whole suite, and what the commit changed, for the table.",
        "python -m unittest -v",
        "git show --stat --oneline HEAD; git status --short",
    ),
    Say(
        text="""\
| What | Before | Now |
|---|---|---|
| Amounts | binary floats | `Decimal`, also when CSV files are read |
| Half a cent | to the even neighbour, or lost in the float | always up (`ROUND_HALF_UP`) |
| Invoice 2131 | 32.68 EUR | 32.69 EUR |
| Invoices of the third quarter | 3 of 60 charged a cent too low (2001, 2011, 2017) | all 60 exact |
| Tests | 27, one failing | 30, all passing |
| Public names | | unchanged |

Still open: `scripts/recount.py` is written and not committed, say if you want to keep it. Code outside this package that makes a \
`Line` with floats now gets a \
TypeError from `line_net`; the shop should read its numbers with `parse_amount`. Invoices that were already sent are not corrected by \
this."""
    ),
)

TURNS: tuple[tuple[str, tuple[Step, ...]], ...] = (
    (ASK_FIX, FIX),
    (ASK_NO_FLOATS, NO_FLOATS),
    (ASK_TABLE, TABLE),
)
