"""Compaction: strategies that shrink a conversation, cheapest and least lossy first, and what must
survive them (CP-1 to CP-19).
"""
