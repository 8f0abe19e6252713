"""Reads and writes the few parts of an ONNX file that are rewritten before the model is loaded.

An ONNX file is a protobuf message; only what is replaced is decoded, by the field numbers of
onnx.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Fields = list[tuple[int, int | bytes]]
"""The fields of a protobuf message in their order: number, and value or bytes."""

MODEL_GRAPH, MODEL_OPERATOR_SET = 7, 8
OPERATOR_SET_DOMAIN, OPERATOR_SET_VERSION = 1, 2
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_OUTPUT = 1, 5, 12
NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 4, 5, 7
TENSOR_NAME, TENSOR_RAW = 8, 9

RUNTIME_OPERATORS = "com.microsoft"
"""Domain of the operators that ONNX Runtime has beyond ONNX's."""

_VALUE_NAME = 1
_ATTRIBUTE_NAME, _ATTRIBUTE_INT, _ATTRIBUTE_TYPE, _TYPE_INT = 1, 3, 20, 2
_VARINT, _BYTES = 0, 2
"""Kinds of fields."""


def rewrite_graph(model: bytes, *rewrites: Callable[[Fields], Fields]) -> bytes:
    """Return the ONNX model with its graph rewritten, without nodes whose values nobody reads. One
    without a graph is returned as it is. Raises ValueError for bytes that are no protobuf message.
    """
    fields = read_fields(model)
    at = next((at for at, (number, _) in enumerate(fields) if number == MODEL_GRAPH), None)
    if at is None:
        return model
    graph = read_fields(as_bytes(fields[at][1]))
    for rewrite in rewrites:
        graph = rewrite(graph)
    fields[at] = (MODEL_GRAPH, write_fields(_drop_unused_nodes(graph)))
    own: Fields = [(OPERATOR_SET_DOMAIN, RUNTIME_OPERATORS.encode()), (OPERATOR_SET_VERSION, 1)]
    return write_fields([*fields, (MODEL_OPERATOR_SET, write_fields(own))])


def find_producers(graph: Fields) -> dict[str, Fields]:
    """The graph's nodes by the name of each value that they give."""
    nodes = (read_fields(as_bytes(value)) for number, value in graph if number == GRAPH_NODE)
    return {name: node for node in nodes for name in read_texts_of_field(node, NODE_OUTPUT)}


def _drop_unused_nodes(graph: Fields) -> Fields:
    """The graph without nodes whose values nobody reads. Nodes stand after those they read."""
    wanted = {
        name
        for number, value in graph
        if number == GRAPH_OUTPUT
        for name in read_texts_of_field(read_fields(as_bytes(value)), _VALUE_NAME)
    }
    kept: Fields = []
    for number, value in reversed(graph):
        if number == GRAPH_NODE:
            node = read_fields(as_bytes(value))
            if wanted.isdisjoint(read_texts_of_field(node, NODE_OUTPUT)):
                continue
            wanted.update(read_texts_of_field(node, NODE_INPUT))
        kept.append((number, value))
    return kept[::-1]


def build_node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, int] | None = None,
    domain: str = "",
) -> bytes:
    """An operator with whole numbers as attributes."""
    return write_fields(
        [
            *((NODE_INPUT, name.encode()) for name in inputs),
            *((NODE_OUTPUT, name.encode()) for name in outputs),
            (NODE_OPERATOR, operator.encode()),
            *((NODE_ATTRIBUTE, _build_attribute(*each)) for each in (attributes or {}).items()),
            (NODE_DOMAIN, domain.encode()),
        ]
    )


def _build_attribute(name: str, value: int) -> bytes:
    return write_fields(
        [(_ATTRIBUTE_NAME, name.encode()), (_ATTRIBUTE_INT, value), (_ATTRIBUTE_TYPE, _TYPE_INT)]
    )


def read_texts_of_field(fields: Fields, wanted: int) -> list[str]:
    """The texts of all fields of this number."""
    return [as_bytes(value).decode() for number, value in fields if number == wanted]


def get_inputs_of_producer(
    producers: Mapping[str, Fields], name: str, operator: str, count: int
) -> Sequence[str]:
    """The inputs of the operator that gives `name`; empty names where another one does."""
    node = producers.get(name, [])
    if read_texts_of_field(node, NODE_OPERATOR) != [operator]:
        return [""] * count
    return read_texts_of_field(node, NODE_INPUT)


def as_bytes(value: int | bytes) -> bytes:
    """The bytes of a field that has bytes."""
    return b"" if isinstance(value, int) else value


def read_fields(message: bytes) -> Fields:
    """Decode one level of a protobuf message. Raises ValueError."""
    fields: Fields = []
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            fields.append((number, value))
        elif kind == _BYTES:
            size, at = _read_varint(message, at)
            fields.append((number, message[at : at + size]))
            at += size
        else:
            raise ValueError("no ONNX model that can be rewritten")
    return fields


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("an ONNX file ends within a number")


def write_fields(fields: Fields) -> bytes:
    """Encode one level of a protobuf message."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_write_varint(number << 3 | _VARINT), _write_varint(value)]
        else:
            parts += [_write_varint(number << 3 | _BYTES), _write_varint(len(value)), value]
    return b"".join(parts)


def _write_varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
