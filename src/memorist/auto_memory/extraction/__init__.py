"""Extraction of memories while a session runs: at once from what the user said, and by a fork at
the end of a turn.
"""
