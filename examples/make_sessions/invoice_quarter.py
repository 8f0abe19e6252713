"""Sixty invoices of a quarter, for the count at the end of the first sample session."""

from __future__ import annotations

_CUSTOMERS = (
    "Holm Joinery",
    "Brook Boats",
    "Ash & Daughters",
    "Mill Lane School",
    "North Pier Cafe",
)
_ARTICLES = (
    ("Screws M4", 335),
    ("Washers M4", 105),
    ("Wood glue", 2675),
    ("Sandpaper", 1455),
    ("Brush", 3950),
    ("Rope 8 mm", 1245),
    ("Hinge", 4110),
)
"""Articles and their prices in tenths of a cent."""


def quarter() -> tuple[str, str]:
    """The lines that were sent as CSV, and what was charged for each: counted as the faulty package
    counts.
    """
    sent, charged = ["number,customer,article,quantity,unit_price,discount,vat"], ["number,charged"]
    for at in range(60):
        net = 0.0
        for place in range(2 + at % 2):
            article, tenths = _ARTICLES[(at * 3 + place * 2) % len(_ARTICLES)]
            quantity, discount = 1 + (at * 7 + place * 5) % 12, (0, 0, 10, 0, 5)[(at + place) % 5]
            sent.append(
                f"{2001 + at},{_CUSTOMERS[at % 5]},{article},{quantity},{tenths / 1000:.3f},{discount or ''},19"
            )
            net += quantity * (tenths / 1000) * (1 - discount / 100)
        net = round(net, 2)
        charged.append(f"{2001 + at},{round(net + round(net * 19.0 / 100, 2), 2):.2f}")
    return "\n".join(sent) + "\n", "\n".join(charged) + "\n"
