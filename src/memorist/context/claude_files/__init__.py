"""The CLAUDE.md family on disk."""
