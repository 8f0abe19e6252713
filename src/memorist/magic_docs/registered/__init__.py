"""The Magic Docs of a session, saved for the next process."""
