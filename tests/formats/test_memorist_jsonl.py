"""memorist's own transcript is read as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.core.messages import (
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
    WireInfo,
)
from memorist.errors import InputError, UnreadableSession
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RawTranscriptLine,
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
    UsageReport,
    encode_transcript_entry,
    read_session,
)

word = st.text(max_size=8)
maybe = st.none() | word
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | word,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=5,
)
json_object = st.dictionaries(word, json_value, max_size=3)
extra = st.none() | json_object
text = st.builds(TextBlock, word, st.none() | st.sampled_from(Origin), extra)
image = st.builds(ImageBlock, json_object, extra)
document = st.builds(DocumentBlock, json_object, extra)
unknown = st.builds(UnknownBlock, word, json_object)
block = (
    text
    | image
    | document
    | unknown
    | st.builds(ThinkingBlock, word, maybe, extra)
    | st.builds(RedactedThinkingBlock, word, extra)
    | st.builds(ToolUse, word, word, json_object, maybe, maybe, extra)
    | st.builds(
        ToolResult,
        word,
        st.lists(text | image | document | unknown, max_size=2).map(tuple),
        st.booleans(),
        st.booleans(),
        extra,
    )
)
count = st.integers(0, 10**9)
seconds = st.none() | st.floats(0, 4e9)
message = st.builds(
    Message,
    id=word,
    role=st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
    blocks=st.lists(block, max_size=3).map(tuple),
    origin=st.sampled_from(Origin),
    parent=maybe,
    timestamp=seconds,
    usage=st.none()
    | st.builds(Usage, input=count, cache_read=count, cache_write=count, output=count),
    reply_id=maybe,
    model=maybe,
    stop_reason=maybe,
    line=count,
    wire=st.none() | st.builds(WireInfo, word, word, st.booleans(), extra),
)
boundary = st.builds(
    CompactionBoundary,
    id=word,
    line=count,
    trigger=word,
    tokens_before=st.none() | count,
    timestamp=seconds,
    kept=count,
    replacement=st.lists(message, max_size=2).map(tuple),
)
measured = st.builds(UsageReport, count, count, count, count, count, st.none() | count)
entry = message | boundary | measured | st.builds(TurnRollback, count, count, count)
head = st.builds(
    SessionHead,
    session=word,
    format=word,
    cwd=word,
    model=word,
    title=word,
    started=seconds,
    window=st.none() | count,
)


def lines_of(data: bytes) -> list[RawTranscriptLine]:
    """The lines of a file with these bytes."""
    return [
        RawTranscriptLine(number, line)
        for number, line in enumerate(data.splitlines(keepends=True), 1)
    ]


@pytest.mark.covers("FM-5", "FM-1")
@given(head, st.lists(entry, max_size=4))
def test_what_is_written_is_read_back_equal(
    first: SessionHead, rest: list[TranscriptEntry]
) -> None:
    """Every field, extra and origin comes back as it was; a message without a line of its own has
    the one that it stands in.
    """
    data = b"".join(encode_transcript_entry(one) for one in (first, *rest))
    assert data.count(b"\n") == 1 + len(rest)
    placed = [
        replace(each, line=number) if isinstance(each, Message) and not each.line else each
        for number, each in enumerate(rest, 2)
    ]
    assert list(read_session(lines_of(data))) == [first, *placed]


@pytest.mark.covers("FM-5")
def test_half_an_emoji_becomes_the_replacement_character() -> None:
    """What no JSON text can hold does not stop the writer."""
    line = encode_transcript_entry(
        Message(
            id="a", role="user", blocks=(TextBlock("x\ud83d"),), origin=Origin.USER, is_typed=True
        )
    )
    (_, found) = read_session(lines_of(line))
    assert isinstance(found, Message)
    assert found.text == "x\ufffd"


@pytest.mark.covers("FM-5")
def test_remarks_on_another_file_have_no_line() -> None:
    """Asides, skips and mends tell about the file that was read."""
    assert (
        encode_transcript_entry(SideRecord("k", 1, b"{}"))
        == encode_transcript_entry(SkippedLine(1, "w"))
        == encode_transcript_entry(RepairedLine(1, "w"))
        == b""
    )


@pytest.mark.covers("FM-5")
def test_a_transcript_of_a_newer_version_is_refused_in_one_sentence() -> None:
    """A format that is not known is not guessed at."""
    line = b'{"memorist":"transcript","version":2,"head":{"session":"a","format":"memorist"}}\n'
    with pytest.raises(UnreadableSession, match="update memorist"):
        list(read_session(lines_of(line)))


@pytest.mark.covers("FM-5")
def test_lines_of_unknown_kind_survive_and_bad_ones_are_reported() -> None:
    """A head that is lost is replaced by an empty one; what can be read is read."""
    good = Message(
        id="a", role="user", blocks=(TextBlock("hi"),), origin=Origin.USER, is_typed=True
    )
    data = (
        b'{"memorist":"trans\n'
        + encode_transcript_entry(good)
        + b'{"type":"later","entry":{}}\n\n{"type":"message","entry":5}\n{"type":"mess'
    )
    assert list(read_session(lines_of(data))) == [
        SessionHead(session="", format="memorist"),
        SkippedLine(1, "it is not a JSON object"),
        replace(good, line=2),
        SideRecord("later", 3, b'{"type":"later","entry":{}}'),
        SkippedLine(5, "its fields are not those of such a record"),
        SkippedLine(6, "it is not a JSON object"),
    ]


@pytest.mark.covers("FM-5")
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """Any file gives a head first, or a clear error."""
    try:
        found = list(read_session(lines_of(data)))
    except InputError:
        return
    assert isinstance(found[0], SessionHead)


@pytest.mark.parametrize("levels", [90, 500, 950])
def test_what_is_nested_without_end_is_kept_without_its_secrets(levels: int) -> None:
    """Another agent's recording may hold such a call: its message is written, as are those
    behind it.
    """
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY2zA4"
    value: dict[str, object] = {"note": f"token {secret}"}
    for _ in range(levels):
        value = {"a": value}
    call = Message(
        id="1", role="assistant", blocks=(ToolUse("t", "f", value),), origin=Origin.MODEL
    )

    line = encode_transcript_entry(call, redacts=True)
    _, read = read_session([RawTranscriptLine(1, line)])

    assert isinstance(read, Message)
    assert read.tool_uses[0].name == "f"
    assert secret.encode() not in line
    assert (b"token" if levels < 900 else b"nested too deep") in line
