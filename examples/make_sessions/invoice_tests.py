"""The tests of the first sample's project. One of them fails."""

from __future__ import annotations

TEST_MONEY = """\
import unittest

from invoices import format_amount, parse_amount, round_cents


class ParseAmount(unittest.TestCase):
    def test_plain_number(self):
        self.assertEqual(str(parse_amount("12.5")), "12.5")

    def test_thousands_separator(self):
        self.assertEqual(parse_amount("1,250.00"), 1250)

    def test_currency_behind_the_number(self):
        self.assertEqual(str(parse_amount("12.5 EUR")), "12.5")

    def test_empty_text_is_nothing(self):
        self.assertEqual(parse_amount(""), 0)

    def test_words_are_refused(self):
        with self.assertRaises(ValueError):
            parse_amount("twelve")


class RoundCents(unittest.TestCase):
    def test_whole_cents_stay(self):
        self.assertEqual(str(round_cents(parse_amount("12.34"))), "12.34")

    def test_less_than_half_a_cent_goes_down(self):
        self.assertEqual(str(round_cents(parse_amount("0.124"))), "0.12")

    def test_more_than_half_a_cent_goes_up(self):
        self.assertEqual(str(round_cents(parse_amount("0.126"))), "0.13")


class FormatAmount(unittest.TestCase):
    def test_two_places_and_currency(self):
        self.assertEqual(format_amount(parse_amount("3")), "3.00 EUR")

    def test_thousands_are_grouped(self):
        self.assertEqual(format_amount(parse_amount("1250.5")), "1,250.50 EUR")


if __name__ == "__main__":
    unittest.main()
"""

TEST_TOTALS = """\
import unittest

from invoices import format_amount, gross_total, net_by_rate, net_total, read_lines, vat_by_rate, vat_total
from invoices import Invoice


def invoice(*rows):
    lines = read_lines(["article,quantity,unit_price,discount,vat", *rows])
    return Invoice("1", "Example Ltd", lines)


class Totals(unittest.TestCase):
    def test_one_line(self):
        self.assertEqual(format_amount(net_total(invoice("Hammer,2,12.50,,"))), "25.00 EUR")

    def test_lines_are_added_before_rounding(self):
        made = invoice("Nail,1,0.004,,", "Nail,1,0.004,,", "Nail,1,0.004,,")
        self.assertEqual(format_amount(net_total(made)), "0.01 EUR")

    def test_half_a_cent_goes_up(self):
        self.assertEqual(format_amount(net_total(invoice("Wood glue,1,2.675,,"))), "2.68 EUR")

    def test_discount(self):
        self.assertEqual(format_amount(net_total(invoice("Saw,1,20.00,10,"))), "18.00 EUR")

    def test_each_rate_has_its_own_sum(self):
        made = invoice("Hammer,1,10.00,,19", "Manual,1,20.00,,7")
        self.assertEqual([format_amount(net) for net in net_by_rate(made).values()], ["20.00 EUR", "10.00 EUR"])

    def test_vat_of_each_rate(self):
        made = invoice("Hammer,1,10.00,,19", "Manual,1,20.00,,7")
        self.assertEqual([format_amount(vat) for vat in vat_by_rate(made).values()], ["1.40 EUR", "1.90 EUR"])

    def test_vat_total(self):
        made = invoice("Hammer,1,10.00,,19", "Manual,1,20.00,,7")
        self.assertEqual(format_amount(vat_total(made)), "3.30 EUR")

    def test_gross_is_net_and_vat(self):
        self.assertEqual(format_amount(gross_total(invoice("Hammer,1,10.00,,19"))), "11.90 EUR")

    def test_no_lines_cost_nothing(self):
        self.assertEqual(format_amount(gross_total(Invoice("1", "Example Ltd"))), "0.00 EUR")


if __name__ == "__main__":
    unittest.main()
"""

TEST_CSV_IMPORT = """\
import unittest
from pathlib import Path

from invoices import read_invoice, read_lines, summary

DATA = Path(__file__).parent.parent / "data"


class ReadLines(unittest.TestCase):
    def test_columns_in_any_order(self):
        (line,) = read_lines(["unit_price,article,quantity", "2.50,Rope,3"])
        self.assertEqual((line.article, line.quantity), ("Rope", 3))

    def test_empty_discount_is_none(self):
        (line,) = read_lines(["article,quantity,unit_price,discount", "Rope,3,2.50,"])
        self.assertEqual(line.discount_percent, 0)

    def test_empty_vat_is_the_standard_rate(self):
        (line,) = read_lines(["article,quantity,unit_price,vat", "Rope,3,2.50,"])
        self.assertEqual(line.vat_percent, 19)

    def test_half_quantities(self):
        (line,) = read_lines(["article,quantity,unit_price", "Rope,2.5,2.00"])
        self.assertEqual(str(line.quantity), "2.5")

    def test_missing_columns_are_named(self):
        with self.assertRaisesRegex(ValueError, "missing columns: unit_price"):
            read_lines(["article,quantity", "Rope,3"])

    def test_a_quantity_of_zero_is_refused(self):
        with self.assertRaises(ValueError):
            read_lines(["article,quantity,unit_price", "Rope,0,2.50"])


class ReadInvoice(unittest.TestCase):
    def test_number_and_customer(self):
        read = read_invoice(DATA / "invoice_2131.csv")
        self.assertEqual((read.number, read.customer), ("2131", "Holm Joinery"))

    def test_thousands_in_a_price(self):
        self.assertIn("1,250.00 EUR", summary(read_invoice(DATA / "invoice_2144.csv")))


if __name__ == "__main__":
    unittest.main()
"""
