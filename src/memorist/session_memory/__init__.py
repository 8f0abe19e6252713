"""Session memory: structured notes of the running session, kept up to date while it runs.

Elsewhere: replacing the conversation by the notes (`compaction.session_memory_compaction`); what
outlives the session (`auto_memory`, `rollouts`).
"""
