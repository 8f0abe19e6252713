"""Whether a session took in content from the web or from an MCP server (RO-9; codex.md section
1.8). Pure.
"""

from __future__ import annotations

import re

from memorist.core.messages import Message, ToolUse, UnknownBlock

_MCP_NAME = re.compile(r"mcp__|mcp[-_.:/]", re.IGNORECASE)
_WEB_TOOLS = frozenset(
    {
        "websearch", "webfetch", "web_search", "web_fetch", "web_search_call",
        "web_search_20250305", "web_fetch_20250910", "tool_search",
        "tool_search_call", "tool_search_output", "tool_search_call_output",
        "web_search_tool_result", "web_fetch_tool_result",
        "mcp_call", "mcp_tool_use", "mcp_tool_result", "list_mcp_resources", "read_mcp_resource",
        "listmcpresourcestool",
        "readmcpresourcetool", "google_web_search", "fetch_url", "browser", "open_url",
    }
)  # fmt: skip
"""Names of tools and items of both families, in lower case."""


def involves_outside_content(message: Message) -> bool:
    """Tell whether a message requests or carries such content."""
    return any(_is_outside_block(block) for block in message.blocks)


def _is_outside_block(block: object) -> bool:
    match block:
        case ToolUse(name=name, namespace=namespace):
            return _is_outside_tool(name) or _is_outside_tool(namespace or "")
        case UnknownBlock(raw=raw):
            return any(
                isinstance(raw.get(key), str) and _is_outside_tool(raw[key])
                for key in ("type", "name", "namespace")
            )
        case _:
            return False


def _is_outside_tool(name: str) -> bool:
    return name.lower() in _WEB_TOOLS or _MCP_NAME.match(name) is not None
