"""The memory folder on disk."""
