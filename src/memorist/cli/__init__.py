"""The command line: thin calls of the library, with clear errors and exit status 0 (done), 1
(failed), 2 (wrong call).

Elsewhere: what the commands do, in the package that each calls.
"""
