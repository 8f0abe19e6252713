"""Which Magic Docs a session keeps, from one process to the next."""
