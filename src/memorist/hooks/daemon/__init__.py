"""The process behind the hooks."""
