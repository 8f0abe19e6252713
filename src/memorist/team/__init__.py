"""Team memory: the folder `team/` of a memory folder, synchronised through a Git remote or a small
server of ours.
"""
