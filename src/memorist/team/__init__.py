"""Team memory: the folder `team/` of a memory folder, synchronised through a Git remote or a small
server of ours.

Elsewhere: one user's own machines (`machines`); whether a memory may be kept
(`auto_memory.write_gate`).
"""
