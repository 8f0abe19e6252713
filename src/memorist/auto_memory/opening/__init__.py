"""A project's memory, opened."""
