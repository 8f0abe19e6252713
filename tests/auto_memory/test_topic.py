"""Topic files."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import (
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    make_file_name,
    parse_memory_file,
    with_provenance,
)
from memorist.core.text_encoding import encode_file_text_as_utf8


@pytest.mark.covers("AM-1", "AM-2")
def test_a_new_memory_has_header_and_provenance() -> None:
    """Name, description and type stand as in Claude Code's files; what memorist adds stands under
    its one key.
    """
    provenance = Provenance(
        session="s1",
        messages=("m1", "m2"),
        quote="use pnpm: always",
        created="2026-01-02T03:04:05Z",
        trust=Trust.STATED,
    )

    topic = parse_memory_file(
        "a.md",
        encode_file_text_as_utf8(
            create_memory_file(
                "a.md",
                kind=MemoryKind.FEEDBACK,
                name="a",
                description="use: pnpm #1",
                body="Use pnpm.",
                provenance=provenance,
            ).text()
        ),
    )

    assert (topic.kind, topic.name, topic.description, topic.body) == (
        MemoryKind.FEEDBACK,
        "a",
        "use: pnpm #1",
        "Use pnpm.",
    )
    assert topic.provenance == provenance


@pytest.mark.covers("AM-2")
def test_unknown_keys_under_ours_survive() -> None:
    """A later version's keys under `memorist` are kept when this one writes its own."""
    topic = parse_memory_file(
        "a.md", b"---\nname: a\nmemorist:\n  proof: 3\n  trust: derived\n---\nx\n"
    )

    after = with_provenance(topic, Provenance(session="s", trust=Trust.STATED))

    assert "proof: '3'" in after.text()
    assert after.provenance.trust is Trust.STATED


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("type: user", MemoryKind.USER),
        ("metadata:\n  type: project", MemoryKind.PROJECT),
        ("type: odd", None),
        ("name: x", None),
        ("type: [user]", None),
    ],
)
def test_the_type_is_read_where_it_stands(header: str, kind: MemoryKind | None) -> None:
    """Both shapes of the header are read; an unknown or missing type is tolerated."""
    assert parse_memory_file("a.md", f"---\n{header}\n---\nx\n".encode()).kind is kind


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_header_that_another_tool_put_in_front_hides_nothing(newline: str) -> None:
    """What syncs notes may write a header of its own: name, kind and description were those of none,
    and the memory could not be found. The first header stays, also after a change.
    """
    text = (
        "---\npermalink: shop/a\n---\n\n---\nname: a\ndescription: We deploy on Tuesdays\n---\nB\n"
    )
    data = text.replace("\n", newline).encode()

    topic = parse_memory_file("a.md", data)

    assert (topic.name, topic.description, topic.body.strip()) == (
        "a",
        "We deploy on Tuesdays",
        "B",
    )
    assert encode_file_text_as_utf8(topic.text()) == data
    changed = with_provenance(topic, Provenance(session="s")).text()
    assert changed.startswith("---\npermalink: shop/a\n---\n\n---\n".replace("\n", newline))
    assert parse_memory_file("a.md", changed.encode()).provenance.session == "s"


@given(st.binary(max_size=300))
def test_any_bytes_come_back(data: bytes) -> None:
    """A file in whatever encoding is read, and written back byte for byte, but for a byte order
    mark, and for UTF-16, which becomes UTF-8.
    """
    assume(not data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)))
    topic = parse_memory_file("a.md", data)

    assert encode_file_text_as_utf8(topic.text()) in (data, data.removeprefix(b"\xef\xbb\xbf"))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Use pnpm, not npm!", "use-pnpm-not-npm.md"),
        ("测试 之前 先 构建", "测试-之前-先-构建.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("हमेशा टेस्ट चलाएँ", "हमेशा-टेस्ट-चलाएँ.md"),
        ("ใช้ pnpm เท่านั้น", "ใช้-pnpm-เท่านั้น.md"),
        ("I ❤️ tabs", "i-tabs.md"),
        ("...", "untitled.md"),
        ("🎉🚀", "untitled.md"),
        ("Ünïcode\u0301", "ünïcodé.md"),
    ],
)
def test_a_name_becomes_a_safe_file_name(name: str, file: str) -> None:
    """Letters and digits of any script, dashes between; nothing that leads elsewhere."""
    assert make_file_name(name) == file


@given(st.text(max_size=300))
def test_every_file_name_is_short_and_plain(name: str) -> None:
    """No name makes a file name that a file system refuses."""
    made = make_file_name(name)

    assert len(made.encode()) <= 80
    assert "/" not in made
    assert not made.startswith(".")
