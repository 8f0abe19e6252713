"""What an agent has written of its session so far."""
