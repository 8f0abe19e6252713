"""Content that can be restored after a compaction."""
