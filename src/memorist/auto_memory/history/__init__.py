"""The history of a memory folder."""
