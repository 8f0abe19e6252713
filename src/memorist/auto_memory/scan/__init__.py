"""What is in a memory folder, kept in step with the disk."""
