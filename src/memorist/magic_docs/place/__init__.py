"""Magic Docs on disk."""
