"""Problems of a Magic Doc on disk. Pure."""

from __future__ import annotations

from memorist.magic_docs.judge import read_document
from memorist.safety.hidden import hidden
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import find_secrets


def problems_of(data: bytes, max_bytes: int) -> tuple[str, ...]:
    """Return why it is not kept up to date, or what a reader should not find in it; nothing for a
    sound one.
    """
    found = read_document(data, max_bytes)
    if isinstance(found, str):
        return (found or "it has no header; a Magic Doc has a line `# MAGIC DOC: title`",)
    secrets = sorted({finding.rule for finding in find_secrets(found.text)})
    signs = sorted(signs_of_orders(found.text))
    checks = (
        (bool(secrets), f"it holds what looks like a secret ({', '.join(secrets)}); take it out, and change the key"),
        (bool(signs), f"it reads in part like an order planted for an agent ({', '.join(signs)}); say it in other words"),
        (bool(hidden(found.text)), "it holds characters that cannot be seen; take them out"),
    )
    return tuple(problem for wrong, problem in checks if wrong)
