"""What memorist keeps on disk."""
