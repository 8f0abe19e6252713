"""Magic Docs: documents of the project that ask to be kept up to date.

Elsewhere: memory put in order (`dream`); the fork that writes (`forks`).
"""
