"""The view Spend: what background work cost and saved, its caps and its receipts; and the same of
one session.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memorist.budget.budget_caps import format_amount
from memorist.budget.budget_status import BudgetStatus, render_budget_status
from memorist.core.sentences import shorten_to_one_line
from memorist.engine.background_status import read_background_budget_status
from memorist.forks.fork_request import parse_name_from_model_string
from memorist.forks.fork_spec import ForkOutcome, Receipt
from memorist.models.model_pricing import (
    PriceTable,
    compute_cache_saving_usd,
    load_shipped_prices,
    merge_prices,
)
from memorist.page.page_context import ROWS_PER_PAGE, PageContext, build_view_address
from memorist.store.receipt_rows import list_newest_receipts
from memorist.views.page_texts import translate, translate_each
from memorist.views.view_blocks import (
    BarRow,
    LabeledFiguresBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    StackedBarBlock,
    TableBlock,
    Tone,
    build_table_row,
)
from memorist.views.view_formatting import format_dollars, format_utc_time

COVERED_DAYS = 7
"""Days that the view covers. Our choice."""
MAX_ADDED_RECEIPTS = 2_000
"""Newest receipts whose saving is added up. Our choice: more than a week of one person makes."""
MAX_LAST_REPLY_CHARS = 160
"""Characters of a fork's last reply that its row shows. Our choice."""
_OUTCOME_TONES: dict[ForkOutcome, Tone] = {
    ForkOutcome.CHANGED: "good",
    ForkOutcome.CONFIRMED: "good",
    ForkOutcome.UNCHANGED: "",
}


class ReceiptCostTotal(Struct, frozen=True, kw_only=True):
    """What some receipts cost together, in US dollars, as far as prices are known."""

    runs: int
    cost: float
    saved: float
    """Against the same requests without a prompt cache."""


def sum_receipt_costs(receipts: Sequence[Receipt], prices: PriceTable) -> ReceiptCostTotal:
    """Add up receipts. `prices` are the user's own, before the shipped ones."""
    table = merge_prices(load_shipped_prices(), prices)
    saved = (
        compute_cache_saving_usd(parse_name_from_model_string(each.model), each.usage, table)
        for each in receipts
    )
    return ReceiptCostTotal(
        runs=sum(bool(each.requests) for each in receipts),
        cost=sum(each.cost_usd or 0.0 for each in receipts),
        saved=sum(each for each in saved if each is not None),
    )


def list_spend_total_figures(spent: ReceiptCostTotal) -> list[tuple[str, str]]:
    """The figures of a sum with their names; none where nothing ran."""
    if not spent.runs:
        return []
    return [
        (translate("runs of memorist here"), f"{spent.runs:,}"),
        (translate("what they cost"), format_dollars(spent.cost)),
        (translate("saved by the shared cache"), format_dollars(spent.saved)),
    ]


def build_spend_view(context: PageContext) -> PageView:
    """What background work did and cost in the last week, and what is left of the caps."""
    settings, database = context.home.settings, context.home.database()
    found = read_background_budget_status(database, settings, context.now, COVERED_DAYS)
    newest = list_newest_receipts(database, MAX_ADDED_RECEIPTS)
    recent = [each for _, each in newest if each.started > context.now - COVERED_DAYS * 86_400]
    spent = sum_receipt_costs(recent, settings.models.prices)
    return PageView(
        name="spend",
        title=translate("Spend"),
        lead=translate(
            "Background work from {first} to {last}.", first=found.first, last=found.last
        ),
        command=f"memorist status --days {COVERED_DAYS}",
        blocks=[
            LabeledFiguresBlock(
                pairs=[
                    (translate("runs"), f"{found.total.runs:,}"),
                    (translate("requests"), f"{found.total.requests:,}"),
                    (translate("tokens"), f"{found.total.usage.context_tokens:,}"),
                    (translate("cost"), format_dollars(found.total.cost_usd)),
                    (translate("saved by the shared cache"), format_dollars(spent.saved)),
                ]
            ),
            StackedBarBlock(
                heading=translate("Tokens by kind of work"),
                unit=translate("tokens"),
                bars=[
                    BarRow(label=each.label, values=[float(each.usage.context_tokens)])
                    for each in found.kinds
                ],
            ),
            _build_caps(found),
            build_receipt_table(newest[:ROWS_PER_PAGE]),
            ProseBlock(
                heading=translate("The whole report"), text="\n".join(render_budget_status(found))
            ),
        ],
    )


def _build_caps(found: BudgetStatus) -> TableBlock:
    return TableBlock(
        heading=translate("Caps of today"),
        columns=translate_each("Cap", "Used", "Reserved", "Left", "Of"),
        rows=[
            build_table_row(
                each.measure,
                *(
                    PageCell(format_amount(each.measure, amount))
                    for amount in (each.used, each.reserved, each.left, each.cap)
                ),
            )
            for each in found.caps
        ],
        numeric=[1, 2, 3, 4],
        empty=translate("Caps are off."),
    )


def build_receipt_table(receipts: Sequence[tuple[str, Receipt]]) -> TableBlock:
    """Receipts, each with the id of its session where the table is of several."""
    named = any(session for session, _ in receipts)
    columns = translate_each("When", "Work", "Outcome", "Tokens", "Cost", "Changed")
    return TableBlock(
        heading=translate("Forks and other work by a model, with their receipts"),
        columns=[*columns, translate("Session")] if named else columns,
        rows=[_receipt_row(each, session, named=named) for session, each in receipts],
        numeric=[3, 4],
        empty=translate("No model has worked for memorist here."),
    )


def _receipt_row(each: Receipt, session: str, *, named: bool) -> PageRow:
    cells: list[str | PageCell] = [
        format_utc_time(each.started),
        PageCell(each.label, quiet=each.why),
        PageCell(
            each.outcome.value,
            tone=_OUTCOME_TONES.get(each.outcome, "note"),
            quiet=shorten_to_one_line(each.said, MAX_LAST_REPLY_CHARS),
        ),
        PageCell(
            f"{each.usage.context_tokens:,}",
            quiet=translate("{cache_read:,} from cache", cache_read=each.usage.cache_read),
        ),
        translate("not known") if each.cost_usd is None else format_dollars(each.cost_usd),
        ", ".join(change.path for change in each.files) or "—",
    ]
    link = PageCell(
        session[:12] or "—", build_view_address("session", id=session) if session else ""
    )
    return build_table_row(*cells, *([link] if named else []))
