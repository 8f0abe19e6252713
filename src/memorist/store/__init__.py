"""Everything memorist stores on disk.

Elsewhere: what the files say, in the package that owns them; where settings are read (`config`).
"""
