"""What the local page and the report of a replay are made of: blocks, templates, style, words.

Elsewhere: serving the page (`page`); running a replay (`replay`).
"""
