"""Feature flags: settings that may be changed while memorist runs, looked up without waiting.

Elsewhere: the settings themselves and their defaults (`settings`).
"""
