"""Compaction: strategies that shrink a conversation, cheapest and least lossy first, and what must
survive them.

Elsewhere: the notes that may replace a conversation (`session_memory`); what the model is shown
after all (`engine.request_view`); what a transcript proves (`transcript_analysis`).
"""
