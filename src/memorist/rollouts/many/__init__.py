"""Workers on several machines, who share a database and a task queue."""
