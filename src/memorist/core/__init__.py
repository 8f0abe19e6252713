"""Pure values and algorithms. Imports nothing else of memorist but the exceptions, and does no
I/O.

Elsewhere: formats of files and requests (`formats`); secrets and hostile text (`safety`).
"""
