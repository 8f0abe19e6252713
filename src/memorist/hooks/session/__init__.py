"""One session of an agent, behind its hooks."""
