"""Auto memory: facts kept about a project across sessions, in typed topic files behind one
index.
"""
