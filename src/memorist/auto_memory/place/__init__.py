"""Where a project's memory is, looked up on disk."""
