"""What a host calls: a session from its first message to its last, and what it is shown, remembers
and leaves to later ones.

Elsewhere: the parts that take part in a session, each in its package (`session_memory`,
`compaction`, `recall`, `context`); the way in from a host (`adapters`, `hooks`, `proxy`).
"""
