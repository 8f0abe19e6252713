"""Recall: find the memories that bear on a message, and show them."""
