"""The patches that the scripted model applies in the first sample session."""

from __future__ import annotations

ROUND_EACH_LINE = """\
*** Update File: invoices/invoice.py
@@
     sums = {}
     for line in invoice.lines:
-        sums[line.vat_percent] = sums.get(line.vat_percent, 0.0) + line_net(line)
+        sums[line.vat_percent] = sums.get(line.vat_percent, 0.0) + round_cents(line_net(line))
     return {rate: round_cents(sums[rate]) for rate in sorted(sums)}
"""

HALF_UP = '''\
*** Update File: invoices/money.py
@@
 """Amounts of money: read, round, show."""

+from decimal import ROUND_HALF_UP, Decimal
+
 CURRENCY = "EUR"
+CENT = Decimal("0.01")
@@
 def round_cents(amount):
-    """Round to whole cents."""
-    return round(amount, 2)
+    """Round to whole cents; half a cent goes up."""
+    return Decimal(str(amount)).quantize(CENT, rounding=ROUND_HALF_UP)
'''

EXACT_PRODUCTS = '''\
*** Update File: invoices/lines.py
@@
 from dataclasses import dataclass
+from decimal import Decimal
@@
     """Net amount of a line, discount taken off, not rounded."""
-    full = line.quantity * line.unit_price
-    return full * (1 - line.discount_percent / 100)
+    full = Decimal(str(line.quantity)) * Decimal(str(line.unit_price))
+    return full * (1 - Decimal(str(line.discount_percent)) / 100)
*** Update File: invoices/invoice.py
@@
 from dataclasses import dataclass, field
+from decimal import Decimal
@@
-        sums[line.vat_percent] = sums.get(line.vat_percent, 0.0) + line_net(line)
+        sums[line.vat_percent] = sums.get(line.vat_percent, Decimal(0)) + line_net(line)
@@
-    return {rate: round_cents(net * rate / 100) for rate, net in net_by_rate(invoice).items()}
+    return {rate: round_cents(net * Decimal(str(rate)) / 100) for rate, net in net_by_rate(invoice).items()}
'''

NO_FLOAT_TYPES = """\
*** Update File: invoices/money.py
@@
     cleaned = text.replace(CURRENCY, "").replace(",", "").strip()
     if not cleaned:
-        return 0.0
-    return float(cleaned)
+        return Decimal(0)
+    return Decimal(cleaned)
@@
-    return Decimal(str(amount)).quantize(CENT, rounding=ROUND_HALF_UP)
+    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
*** Update File: invoices/lines.py
@@
-    quantity: float
-    unit_price: float
-    discount_percent: float = 0.0
-    vat_percent: float = 19.0
+    quantity: Decimal
+    unit_price: Decimal
+    discount_percent: Decimal = Decimal(0)
+    vat_percent: Decimal = Decimal(19)
@@
-    full = Decimal(str(line.quantity)) * Decimal(str(line.unit_price))
-    return full * (1 - Decimal(str(line.discount_percent)) / 100)
+    full = line.quantity * line.unit_price
+    return full * (1 - line.discount_percent / 100)
*** Update File: invoices/invoice.py
@@
-    return {rate: round_cents(net * Decimal(str(rate)) / 100) for rate, net in net_by_rate(invoice).items()}
+    return {rate: round_cents(net * rate / 100) for rate, net in net_by_rate(invoice).items()}
"""

ONE_READER = '''\
*** Update File: invoices/money.py
@@
-from decimal import ROUND_HALF_UP, Decimal
+from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
@@
     if not cleaned:
         return Decimal(0)
-    return Decimal(cleaned)
+    return parse_number(cleaned)
+
+
+def parse_number(text):
+    """Read a plain number exactly. Raises ValueError for anything else."""
+    try:
+        return Decimal(text.strip())
+    except InvalidOperation:
+        raise ValueError(f"{text!r} is no number") from None
*** Update File: invoices/csv_import.py
@@
 from invoices.lines import Line
-from invoices.money import parse_amount
+from invoices.money import parse_amount, parse_number

-STANDARD_VAT = 19.0
+STANDARD_VAT = "19"
@@
-        quantity=float(row["quantity"]),
+        quantity=parse_number(row["quantity"]),
         unit_price=parse_amount(row["unit_price"]),
-        discount_percent=float(row.get("discount") or 0),
-        vat_percent=float(row.get("vat") or STANDARD_VAT),
+        discount_percent=parse_number(row.get("discount") or "0"),
+        vat_percent=parse_number(row.get("vat") or STANDARD_VAT),
'''

EMPTY_SUMS = """\
*** Update File: invoices/invoice.py
@@
-    return round_cents(sum(net_by_rate(invoice).values()))
+    return round_cents(sum(net_by_rate(invoice).values(), Decimal(0)))
@@
-    return round_cents(sum(vat_by_rate(invoice).values()))
+    return round_cents(sum(vat_by_rate(invoice).values(), Decimal(0)))
"""

EXACT_TESTS = """\
*** Add File: tests/test_exact.py
+import ast
+import unittest
+from pathlib import Path
+
+from invoices import format_amount, gross_total, parse_amount, read_invoice, round_cents
+
+ROOT = Path(__file__).parent.parent
+
+
+class Exact(unittest.TestCase):
+    def test_invoice_2131_comes_to_what_the_customer_says(self):
+        self.assertEqual(format_amount(gross_total(read_invoice(ROOT / "data" / "invoice_2131.csv"))), "32.69 EUR")
+
+    def test_exact_halves_go_up(self):
+        for text, rounded in (("2.675", "2.68"), ("2.665", "2.67"), ("0.125", "0.13"), ("1,000.005", "1000.01")):
+            with self.subTest(text):
+                self.assertEqual(str(round_cents(parse_amount(text))), rounded)
+
+    def test_no_float_in_the_package(self):
+        for path in sorted((ROOT / "invoices").glob("*.py")):
+            for node in ast.walk(ast.parse(path.read_text())):
+                with self.subTest(path.name):
+                    self.assertFalse(isinstance(node, ast.Name) and node.id == "float")
+                    self.assertFalse(isinstance(node, ast.Constant) and isinstance(node.value, float))
"""

CHANGELOG_ENTRY = """\
*** Update File: CHANGELOG.md
@@
 # Changes

+## 1.4.1
+- Totals are exact: amounts are `Decimal` everywhere, also when CSV files are read, and half a cent goes up. Invoice 2131 was a cent too low.
+- `Line` holds `Decimal` values instead of floats. No public name has changed.
+
 ## 1.4.0
"""

RECOUNT = '''\
*** Add File: scripts/recount.py
+"""Count the invoices of a quarter again and compare with what was charged: python -m scripts.recount SENT CHARGED"""
+
+import csv
+import sys
+from pathlib import Path
+
+from invoices import Invoice, format_amount, gross_total, parse_amount, read_lines
+
+
+def recount(sent, charged):
+    """Rows of number, charged amount and exact amount, in the order of the charged file."""
+    header, *rows = Path(sent).read_text(encoding="utf-8").splitlines()
+    by_number = {}
+    for row in rows:
+        by_number.setdefault(row.split(",")[0], []).append(row)
+    with open(charged, newline="", encoding="utf-8") as file:
+        for entry in csv.DictReader(file):
+            lines = read_lines([header, *by_number[entry["number"]]])
+            yield entry["number"], parse_amount(entry["charged"]), gross_total(Invoice(entry["number"], "", lines))
+
+
+if __name__ == "__main__":
+    wrong = 0
+    for number, was, exact in recount(*sys.argv[1:]):
+        mark = f"  off by {exact - was}" if exact != was else ""
+        wrong += bool(mark)
+        print(f"{number}  charged {format_amount(was):>12}  exact {format_amount(exact):>12}{mark}")
+    print(f"{wrong} invoices differ")
'''
