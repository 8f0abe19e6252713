"""Consolidation of memory between sessions."""
