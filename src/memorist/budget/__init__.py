"""What memorist may spend, and what it spent.

Elsewhere: the limits of one fork (`forks.fork_spec`); prices (`models.model_pricing`); the rows
of what was spent (`store.spend_rows`).
"""
