"""Recall: what of the memories bears on a message, and how it is shown."""
