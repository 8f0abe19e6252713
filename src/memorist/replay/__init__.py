"""Replay: run a recorded session through the engine as if it were live, and report what
happened.

Elsewhere: making a conversation smaller (`compaction`); reading recordings (`formats`).
"""
