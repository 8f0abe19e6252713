"""Memories of other agents: their files read and written.

Elsewhere: the session files of other agents (`formats`); their hooks (`hooks`).
"""
