"""Looking for files and lines."""
