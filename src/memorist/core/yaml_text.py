"""Reading and writing YAML; the library is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from memorist.core.lazy import lazy_module

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy_module("yaml")


MAX_YAML_BYTES = 65_536
"""Longest YAML text in bytes of UTF-8; a typical header has a few hundred."""


MAX_YAML_DEPTH = 16
"""Lists and mappings within each other; a typical header has three levels."""


MAX_YAML_VALUES = 4_096
"""Keys, texts, lists and mappings together; a typical header has some dozens."""


def parse_yaml_scalars_as_text(text: str) -> object:
    """Parse a text with every scalar kept as text: no date, number or `yes` is converted. None for
    an empty text.

    The text may come from a stranger, so the parser's events are read one by one and within bounds:
    libyaml's own loader calls itself for each level, and an alias repeats a whole value.

    Raises ValueError for invalid YAML, a second document, an anchor or alias, a key that is not
    text or occurs twice, and a broken bound (`MAX_YAML_BYTES`, `MAX_YAML_DEPTH`,
    `MAX_YAML_VALUES`).
    """
    if len(text) > MAX_YAML_BYTES or len(text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise ValueError(f"it is longer than {MAX_YAML_BYTES:,} bytes")
    try:
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)
        try:
            return _build_yaml_value(_bounded_yaml_events(loader))
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None)
        said = f"in its line {mark.line + 1}: {problem}" if mark and problem else str(error)
        raise ValueError(said) from error


def _bounded_yaml_events(loader: yaml.BaseLoader) -> Iterator[yaml.Event]:
    """The parser's events, up to the first that breaks a bound."""
    next_event: Callable[[], yaml.Event] = loader.get_event
    depth = values = documents = 0
    while loader.check_event():
        event = next_event()
        if getattr(event, "anchor", None) is not None:  # an alias event names its anchor too
            raise ValueError("it has anchors or aliases")
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MAX_YAML_DEPTH:
            raise ValueError(f"it is deeper than {MAX_YAML_DEPTH} levels")
        if values > MAX_YAML_VALUES:
            raise ValueError(f"it has more than {MAX_YAML_VALUES:,} values")
        if documents > 1:
            raise ValueError("it holds more than one document")
        yield event


def _build_yaml_value(events: Iterator[yaml.Event]) -> object:
    """The value that the events spell. Open lists and mappings wait on a stack; a mapping is a flat
    list of keys and values until it ends.
    """
    stack: list[list[object]] = [[]]
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].append(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            parts = stack.pop()
            mapping = isinstance(event, yaml.MappingEndEvent)
            stack[-1].append(_pair_yaml_keys(parts) if mapping else parts)
    return stack[0][0] if stack[0] else None


def _pair_yaml_keys(parts: list[object]) -> dict[str, object]:
    keys = [key for key in parts[::2] if isinstance(key, str)]
    if len(keys) < len(parts) // 2:
        raise ValueError("it has a key that is not text")
    if len(set(keys)) < len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise ValueError(f"it has the key {twice[:40]!r} twice")
    return dict(zip(keys, parts[1::2], strict=True))


@cache
def _anchorless_dumper() -> type[yaml.SafeDumper]:
    """The library's dumper, which writes a value that stands twice twice."""
    return type("_AnchorlessDumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})


def dump_yaml(value: object) -> str:
    """Dump the value in block style, keys in their order, each on one line, without anchors."""
    text: str = yaml.dump(
        value,
        Dumper=_anchorless_dumper(),
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
        default_flow_style=False,
    )
    return text
