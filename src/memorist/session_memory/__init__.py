"""Session memory: structured notes of the running session, kept up to date while it runs (SM-1 to
SM-14).
"""
