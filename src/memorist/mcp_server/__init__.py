"""Memory, notes and what was cut, as tools for any agent that speaks MCP.

Elsewhere: what the tools search and write (`recall`, `auto_memory`); the command that starts it
(`cli.mcp_command`).
"""
