"""`memorist memory`.

Elsewhere: what these commands do (`auto_memory`).
"""
