"""The local page of `memorist ui`: what the model saw, why, what it cost, and how to undo it.

Elsewhere: templates, style and words (`views`); the commands behind its buttons, in the package
of each.
"""
