"""What a recorded conversation proves.

Elsewhere: reading recordings (`formats`); notes and summaries made of it (`session_memory`,
`compaction`, `rollouts`).
"""
