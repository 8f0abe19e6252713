"""`memorist doctor`, a module for each group of checks.

Elsewhere: what hooks log (`hooks.hook_client`); the checks of what a session is shown (`safety`).
"""
