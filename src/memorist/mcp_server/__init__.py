"""Memory, notes and what was cut, as tools for any agent that speaks MCP."""
