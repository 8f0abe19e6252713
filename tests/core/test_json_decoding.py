"""What is decoded for the first time in several threads at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from memorist.core.json_decoding import build_json_decoder, convert_value, decode_json

SOURCES = Path(__file__).parents[2] / "src" / "memorist"
FIRST_USES = """
import sys, threading, msgspec
from memorist.core.json_decoding import decode_json

sys.setswitchinterval(1e-6)
for number in range(300):
    inner = msgspec.defstruct("Inner", [(f"b{n}", int | None, None) for n in range(30)])
    outer = msgspec.defstruct("Outer", [(f"f{n}", list[inner] | None, None) for n in range(30)])
    ready = threading.Barrier(4)

    def use(outer=outer, ready=ready):
        ready.wait()
        decode_json(b'{"f29": [{"b29": 1}], "f28": null}', as_type=outer)

    threads = [threading.Thread(target=use) for _ in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
"""


def test_a_type_may_be_used_first_by_several_threads_at_once() -> None:
    """By msgspec alone the process ends in a segmentation fault, within the first few types."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USES], capture_output=True, text=True, check=False, timeout=300
    )

    assert done.returncode == 0, done.stderr


def test_every_typed_value_is_decoded_so() -> None:
    """No other module has msgspec learn a type."""
    for path in SOURCES.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.name != "json_decoding.py":
            assert "msgspec.convert(" not in text, path
            assert "json.Decoder(" not in text.replace("json.Decoder()", ""), path


def test_a_type_has_one_decoder() -> None:
    """It is made once, and reads what msgspec reads."""
    assert build_json_decoder(tuple[int, ...]) is build_json_decoder(tuple[int, ...])
    assert decode_json(b"[1, 2]", as_type=tuple[int, ...]) == (1, 2)
    assert convert_value("3", int, strict=False) == 3


@pytest.mark.parametrize("data", [b'["a\xff"]', b"[" * 100_000, b"{", b""])
def test_what_cannot_be_decoded_is_one_error(data: bytes) -> None:
    """Whoever reads a damaged file catches msgspec.DecodeError: bytes that are no UTF-8, and lists
    within lists without end, are no other error.
    """
    with pytest.raises(msgspec.DecodeError):
        decode_json(data, as_type=object)
