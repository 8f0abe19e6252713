"""Texts that are forgotten for good are taken out of JSON, which stays JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from memorist.store.home_layout import Layout
from memorist.store.text_removal import remove_text_copies

_CHARACTERS = st.sampled_from('ab n"\\\n\t/u0041{}[]:,é\u2028\U0001f600')
_TEXTS = st.text(_CHARACTERS, min_size=1, max_size=16)


@given(
    text=st.text(_CHARACTERS, min_size=12, max_size=16).filter(lambda each: each == each.strip()),
    around=st.tuples(_TEXTS, _TEXTS),
    escaped=st.booleans(),
    nested=st.booleans(),
    torn=st.booleans(),
)
@example(text="needs the xylophone", around=("\n", "\\"), escaped=True, nested=False, torn=False)
@example(text="no more of that", around=("\\", ""), escaped=False, nested=True, torn=True)
def test_json_stays_json_and_what_stands_around_a_text_stays(
    tmp_path_factory: Any,
    text: str,
    around: tuple[str, str],
    escaped: bool,
    nested: bool,
    torn: bool,
) -> None:
    """Also where the text is within JSON in a JSON string, and beside a line that was torn."""
    assume(not any(text in each for each in around))
    home: Path = tmp_path_factory.mktemp("home")
    value: Any = {"said": f"{around[0]} {text} {around[1]}", "other": [around[0], 1.5, None]}
    written = json.dumps(value, ensure_ascii=escaped)
    line = json.dumps({"inner": written}, ensure_ascii=escaped) if nested else written
    (home / "lines.jsonl").write_text(
        f"{line}\n{line}\n" + (line[: len(line) // 2] if torn else ""), "utf-8"
    )

    remove_text_copies(Layout(home), [text])

    for cleaned in (home / "lines.jsonl").read_text("utf-8").split("\n")[:2]:
        found = json.loads(cleaned)
        read = json.loads(found["inner"]) if nested else found
        assert text not in read["said"]
        assert "[forgotten]" in read["said"]
        assert read["other"] == value["other"]
