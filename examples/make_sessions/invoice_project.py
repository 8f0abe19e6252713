"""The project of the first sample session: a small package that makes invoices, with the fault that
the session finds.

Amounts are binary floats and are rounded half to even, so a total that ends in half a cent is
sometimes a cent too low.
"""

from __future__ import annotations

from invoice_quarter import quarter
from invoice_tests import TEST_CSV_IMPORT, TEST_MONEY, TEST_TOTALS

README = """\
# invoices

Makes the totals of our invoices from the CSV files that customers and the shop send us.

    python -m invoices data/invoice_2131.csv

Rules, agreed with the accountant:

- Prices may have three places (0.335 for a screw). Totals have two.
- Lines are added first. Rounding happens once for each VAT rate, on the net sum and on the VAT of that rate.
- Half a cent goes up.
- The public names in `invoices/__init__.py` are used by the shop and by the customers' import jobs. They stay.

Tests: `python -m unittest`
"""

CHANGELOG = """\
# Changes

## 1.4.0
- Two VAT rates on one invoice.
- `summary` shows the VAT of each rate.

## 1.3.2
- Empty discount fields in CSV files are read as no discount.
"""

PACKAGE = '''\
"""Invoices: lines from CSV files, totals with VAT, a summary to print."""

from invoices.csv_import import read_invoice, read_lines
from invoices.invoice import Invoice, gross_total, net_by_rate, net_total, vat_by_rate, vat_total
from invoices.lines import Line, line_net
from invoices.money import format_amount, parse_amount, round_cents
from invoices.summary import summary

__all__ = [
    "Invoice",
    "Line",
    "format_amount",
    "gross_total",
    "line_net",
    "net_by_rate",
    "net_total",
    "parse_amount",
    "read_invoice",
    "read_lines",
    "round_cents",
    "summary",
    "vat_by_rate",
    "vat_total",
]
'''

MAIN = '''\
"""Print the summary of an invoice file: python -m invoices FILE"""

import sys

from invoices import read_invoice, summary

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m invoices FILE")
    print(summary(read_invoice(sys.argv[1])))
'''

MONEY = '''\
"""Amounts of money: read, round, show."""

CURRENCY = "EUR"


def parse_amount(text):
    """Read an amount as people write it: "12.50", "1,250.00", "12.50 EUR". An empty text is nothing."""
    cleaned = text.replace(CURRENCY, "").replace(",", "").strip()
    if not cleaned:
        return 0.0
    return float(cleaned)


def round_cents(amount):
    """Round to whole cents."""
    return round(amount, 2)


def format_amount(amount):
    """Show an amount with two places and the currency."""
    return f"{amount:,.2f} {CURRENCY}"
'''

LINES = '''\
"""One line of an invoice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """An article on an invoice. Prices are net."""

    article: str
    quantity: float
    unit_price: float
    discount_percent: float = 0.0
    vat_percent: float = 19.0

    def __post_init__(self):
        if self.quantity <= 0:
            raise ValueError(f"the quantity of {self.article!r} must be positive")
        if not 0 <= self.discount_percent <= 100:
            raise ValueError(f"the discount of {self.article!r} must be between 0 and 100 percent")


def line_net(line):
    """Net amount of a line, discount taken off, not rounded."""
    full = line.quantity * line.unit_price
    return full * (1 - line.discount_percent / 100)
'''

INVOICE = '''\
"""An invoice and its totals."""

from dataclasses import dataclass, field

from invoices.lines import line_net
from invoices.money import round_cents


@dataclass
class Invoice:
    """A numbered list of lines for one customer."""

    number: str
    customer: str
    lines: list = field(default_factory=list)


def net_by_rate(invoice):
    """Net sum of each VAT rate, lowest rate first."""
    sums = {}
    for line in invoice.lines:
        sums[line.vat_percent] = sums.get(line.vat_percent, 0.0) + line_net(line)
    return {rate: round_cents(sums[rate]) for rate in sorted(sums)}


def vat_by_rate(invoice):
    """VAT of each rate, from the rounded net sum of that rate."""
    return {rate: round_cents(net * rate / 100) for rate, net in net_by_rate(invoice).items()}


def net_total(invoice):
    """Net sum of all lines."""
    return round_cents(sum(net_by_rate(invoice).values()))


def vat_total(invoice):
    """VAT of all rates."""
    return round_cents(sum(vat_by_rate(invoice).values()))


def gross_total(invoice):
    """What the customer pays."""
    return round_cents(net_total(invoice) + vat_total(invoice))
'''

CSV_IMPORT = '''\
"""Invoices from CSV files.

The first line names the invoice: `invoice,NUMBER,CUSTOMER`. The second names the columns, in any order:
article, quantity, unit_price, discount, vat. Empty discount: none. Empty vat: 19.
"""

import csv

from invoices.invoice import Invoice
from invoices.lines import Line
from invoices.money import parse_amount

STANDARD_VAT = 19.0
COLUMNS = ("article", "quantity", "unit_price")


def read_lines(rows):
    """Lines of an invoice from CSV rows, the row of column names first."""
    reader = csv.DictReader(rows)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
    if missing:
        raise ValueError("missing columns: " + ", ".join(missing))
    return [_line(row) for row in reader if row["article"]]


def _line(row):
    return Line(
        article=row["article"].strip(),
        quantity=float(row["quantity"]),
        unit_price=parse_amount(row["unit_price"]),
        discount_percent=float(row.get("discount") or 0),
        vat_percent=float(row.get("vat") or STANDARD_VAT),
    )


def read_invoice(path):
    """Read an invoice file."""
    with open(path, newline="", encoding="utf-8") as file:
        kind, number, customer = next(csv.reader(file))
        if kind != "invoice":
            raise ValueError(f"{path} is no invoice file")
        return Invoice(number, customer, read_lines(file))
'''

SUMMARY = '''\
"""The printed form of an invoice."""

from invoices.invoice import gross_total, net_total, vat_by_rate
from invoices.lines import line_net
from invoices.money import format_amount, round_cents


def summary(invoice):
    """Lines and totals as text."""
    rows = [f"Invoice {invoice.number} for {invoice.customer}", ""]
    for line in invoice.lines:
        shown = format_amount(round_cents(line_net(line)))
        rows.append(f"{line.article:<24}{line.quantity:>6g} x {line.unit_price:>7.3f}{shown:>16}")
    rows.append("")
    rows.append(f"{'Net':<40}{format_amount(net_total(invoice)):>16}")
    for rate, vat in vat_by_rate(invoice).items():
        label = f"VAT {rate:g} %"
        rows.append(f"{label:<40}{format_amount(vat):>16}")
    rows.append(f"{'To pay':<40}{format_amount(gross_total(invoice)):>16}")
    return "\\n".join(rows)
'''

INVOICE_2131 = """\
invoice,2131,Holm Joinery
article,quantity,unit_price,discount,vat
Screws M4,25,0.335,,19
Washers M4,40,0.105,10,19
Wood glue,3,2.675,,19
Sandpaper,5,1.457,,19
"""

INVOICE_2144 = """\
invoice,2144,Brook Boats
article,quantity,unit_price,discount,vat
Marine varnish,1,"1,250.00 EUR",,19
Brush,4,3.95,5,19
Handbook,2,18.60,,7
"""

SENT, CHARGED = quarter()

FILES: dict[str, str] = {
    "README.md": README,
    "CHANGELOG.md": CHANGELOG,
    "invoices/__init__.py": PACKAGE,
    "invoices/__main__.py": MAIN,
    "invoices/money.py": MONEY,
    "invoices/lines.py": LINES,
    "invoices/invoice.py": INVOICE,
    "invoices/csv_import.py": CSV_IMPORT,
    "invoices/summary.py": SUMMARY,
    "tests/__init__.py": "",
    "tests/test_money.py": TEST_MONEY,
    "tests/test_totals.py": TEST_TOTALS,
    "tests/test_csv_import.py": TEST_CSV_IMPORT,
    "data/invoice_2131.csv": INVOICE_2131,
    "data/invoice_2144.csv": INVOICE_2144,
    "data/sent_q3.csv": SENT,
    "data/charged_q3.csv": CHARGED,
    ".gitignore": "__pycache__/\n",
}
