"""The ranker over its index file."""
