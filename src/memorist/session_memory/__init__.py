"""Session memory: structured notes of the running session, kept up to date while it runs (SM-1 to
SM-14).

Elsewhere: replacing the conversation by the notes (`compaction.session_memory_compaction`); what
outlives the session (`auto_memory`, `rollouts`).
"""
