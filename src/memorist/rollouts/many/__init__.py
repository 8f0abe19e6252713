"""Workers on several machines that share a database and a task queue."""
