"""The AGENTS.md family on disk."""
