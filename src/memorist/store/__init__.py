"""Everything memorist stores on disk."""
