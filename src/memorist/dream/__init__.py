"""Consolidation of memory between sessions.

Elsewhere: memory made of past sessions (`rollouts`); the files and their history
(`auto_memory`).
"""
