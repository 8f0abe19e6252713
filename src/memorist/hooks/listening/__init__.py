"""The socket behind the hooks, and who holds it."""
