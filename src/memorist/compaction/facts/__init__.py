"""What can come back after a compaction, as it is now."""
