"""The client of a team server."""
