"""`memorist rollouts …`."""
