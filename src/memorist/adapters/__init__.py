"""memorist in the agents and SDKs that people already use: thin plugs that map a host's messages
and call the engine's points.

Elsewhere: what is done with a request (`engine`); coding agents by their hooks (`hooks`), any
agent by its address (`proxy`) or by MCP (`mcp_server`).
"""
