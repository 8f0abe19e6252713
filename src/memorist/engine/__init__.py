"""What a host calls: a session from its first message to its last, and what it is shown, remembers
and leaves to later ones.
"""
