"""The folder of memories on the disk."""
