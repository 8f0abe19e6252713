"""The memory folder on disk: scanned, written, indexed, recorded."""
