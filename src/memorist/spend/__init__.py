"""The spend governor: what background work with a model may cost, what it has cost, and what gives way first."""
