"""Replay: run a recorded session through the engine as if it were live, and report what
happened.
"""
