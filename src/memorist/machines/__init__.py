"""One user's memories on all of the user's machines: each machine keeps one encrypted file in a
place that all of them reach, and reads the others'.

Elsewhere: memory shared with others (`team`).
"""
