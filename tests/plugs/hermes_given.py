"""What the plug-in's file in Hermes' folder is given by a test, since Hermes loads that file
itself.
"""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {}
"""Arguments of `memorist.adapters.hermes.plugin`."""
