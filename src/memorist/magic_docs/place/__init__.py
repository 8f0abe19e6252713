"""Where Magic Docs are on disk."""
