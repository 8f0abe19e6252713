"""The team server."""
