"""Has an ONNX model compute its attention and its activation by one operator each.

The packaged model was exported as some thirty operators a layer: it lays queries, keys and values
out anew several times, and masks padding, of which one text by itself has none. ONNX Runtime has an
operator for all of an attention (MultiHeadAttention) and one for the activation (Gelu); its own
fusion does not recognise this export. With the plain LayerNormalization in place of the fused one
that halves the time of a text, and the vectors differ by rounding only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.models.onnx_protobuf import (
    GRAPH_NODE,
    NODE_OUTPUT,
    RUNTIME_OPERATORS,
    Fields,
    as_bytes,
    build_node,
    find_producers,
    get_inputs_of_producer,
    read_fields,
    read_texts_of_field,
)

ATTENTION_HEADS = 12
"""Of all-MiniLM-L6-v2; each has 32 of its 384 numbers."""

_Path = Sequence[tuple[str, int]]
"""Operators from a value back to what it is computed from: each with the number of the input that
is followed.
"""

_SPLIT_HEADS: _Path = (("Transpose", 0), ("Reshape", 0))
_JOINED: _Path = (("Reshape", 0), ("Transpose", 0))
_PRODUCT: _Path = (*_JOINED, ("MatMul", 0), ("Where", 2), ("Softmax", 0), ("Add", 0))
_QUERY: _Path = (*_PRODUCT, ("MatMul", 0), ("Mul", 0), *_SPLIT_HEADS)
_KEY: _Path = (*_PRODUCT, ("MatMul", 1), ("Mul", 0), ("Reshape", 0), *_SPLIT_HEADS, *_SPLIT_HEADS)
_VALUE: _Path = (*_JOINED, ("MatMul", 1), *_SPLIT_HEADS)
_GELU: _Path = (("Mul", 1), ("Mul", 1), ("Add", 0), ("Erf", 0), ("Div", 0))


def fuse_operators(graph: Fields) -> Fields:
    """Return the ONNX graph with one operator for each attention and each activation that it
    computes by several. Only for texts without padding: the attention looks at all tokens.
    """
    producers = find_producers(graph)
    fused: Fields = []
    for number, value in graph:
        node = read_fields(as_bytes(value)) if number == GRAPH_NODE else []
        outputs = read_texts_of_field(node, NODE_OUTPUT)
        fused.append((number, (outputs and _fuse(producers, outputs[0])) or value))
    return fused


def _fuse(producers: Mapping[str, Fields], output: str) -> bytes:
    """The operator that computes this at once; empty where there is none."""
    inputs = [_trace(producers, output, path) for path in (_QUERY, _KEY, _VALUE)]
    if all(inputs):
        heads = {"num_heads": ATTENTION_HEADS}
        return build_node("MultiHeadAttention", inputs, [output], heads, RUNTIME_OPERATORS)
    activated = _trace(producers, output, _GELU)
    if activated and activated == get_inputs_of_producer(producers, output, "Mul", 2)[0]:
        return build_node("Gelu", [activated], [output], domain=RUNTIME_OPERATORS)
    return b""


def _trace(producers: Mapping[str, Fields], name: str, path: _Path) -> str:
    """What `name` is computed from along the path; empty where other operators compute it."""
    for operator, at in path:
        name = get_inputs_of_producer(producers, name, operator, at + 1)[at]
    return name
