"""Secrets in the columns of tables: the key is in the header, the values stand under it, row by
row.
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.core.lazy import lazy_pattern
from memorist.safety.safety_finding import SafetyFinding
from memorist.safety.secret_keys import KeyKind
from memorist.safety.secret_values import (
    has_password_strength,
    is_mixed_character_password,
    is_random_looking,
    is_reference_or_placeholder,
)

_ROWS = 30
_LONGEST_LINE = 600
_MOST_COLUMNS = 40
_HEADING = lazy_pattern(r"\s*[\"']?[A-Za-z][\w .-]{0,40}[\"']?\s*\Z")
_ALIGNED = lazy_pattern(
    r"[ ]{0,40}[^\W\d][\w-]{0,40}(?: [\w-]{1,40})?(?:[ ]{2,40}[^\W\d][\w-]{0,40}(?: [\w-]{1,40})?){1,20}\s*\Z"
)
_CELL = lazy_pattern(r"\S+")
_RULE = lazy_pattern(r"[\s|+:=,-]*\Z")


def find_secrets_below_column_header(text: str, at: int, kind: KeyKind) -> Iterator[SafetyFinding]:
    """The secrets in the column whose header holds the name at this place. Cells are separated by `|`,
    `,`, `;`, tabulators, or two blanks where the columns are aligned.
    """
    begin = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
    stop = text.find("\n", at, at + _LONGEST_LINE)
    if stop < 0 or (begin == 0 and at > _LONGEST_LINE):
        return
    header, rule = (
        text[begin:stop],
        "password" if kind in {"password", "pass"} else "assigned-secret",
    )
    table = _table(header, text[stop + 1 : stop + _LONGEST_LINE].partition("\n")[0])
    if table is not None:
        column = text[begin:at].count(table[0])
        yield from _rows(text, stop + 1, table, column, rule)
    elif _ALIGNED.match(header):
        name = header[: at - begin].rpartition("  ")[2]
        column = at - begin - len(name.lstrip(" "))
        yield from _aligned_cells(text, stop + 1, column, rule)


def _aligned_cells(text: str, begin: int, column: int, rule: str) -> Iterator[SafetyFinding]:
    """The secrets that begin where the header's name does, up to the first line without a cell there."""
    for _ in range(_ROWS):
        stop = text.find("\n", begin, begin + _LONGEST_LINE)
        line = text[begin : stop if stop >= 0 else begin + _LONGEST_LINE]
        cell = _CELL.match(line, column)
        if cell is None or line[max(0, column - 2) : column].strip():
            return
        if _is_secret_cell(rule, cell[0]):
            yield SafetyFinding(begin + cell.start(), begin + cell.end(), rule)
        if stop < 0:
            return
        begin = stop + 1


def _table(header: str, below: str) -> tuple[str, list[str]] | None:
    """The separator of a table with this header, and the header's cells. A header holds names
    alone, and the row below as many cells.
    """
    if "|" in header and (_RULE.match(below) or header.strip()[0] == "|" == header.strip()[-1]):
        return "|", header.split("|")
    for separator in ("\t", ",", ";"):
        cells = header.split(separator)
        if (
            len(cells) > 1
            and len(below.split(separator)) == len(cells) <= _MOST_COLUMNS
            and all(_HEADING.match(cell) for cell in cells)
        ):
            return separator, cells
    return None


def _rows(
    text: str, begin: int, table: tuple[str, list[str]], column: int, rule: str
) -> Iterator[SafetyFinding]:
    separator, header = table
    for _ in range(_ROWS):
        stop = text.find("\n", begin, begin + _LONGEST_LINE)
        stop = stop if stop >= 0 else min(len(text), begin + _LONGEST_LINE)
        line = text[begin:stop]
        cells = line.split(separator)
        if len(cells) != len(header):
            if _RULE.match(line) and line:
                begin = stop + 1
                continue
            return
        value = cells[column].strip(" \t`\"'*\r")
        if _is_secret_cell(rule, value):
            start = begin + sum(len(one) + 1 for one in cells[:column]) + cells[column].index(value)
            yield SafetyFinding(start, start + len(value), rule)
        begin = stop + 1


def _is_secret_cell(rule: str, value: str) -> bool:
    if (
        len(value) < 8
        or " " in value
        or is_reference_or_placeholder(value)
        or not any(map(str.isdigit, value))
    ):
        return False
    if rule == "password":
        return has_password_strength(value) or is_mixed_character_password(value)
    return len(value) >= 16 and is_random_looking(value)
