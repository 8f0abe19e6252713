"""Auto memory: what is kept of a project across sessions, in typed topic files behind one index."""
