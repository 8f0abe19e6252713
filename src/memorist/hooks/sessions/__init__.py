"""The sessions of agents that are open."""
