"""Which remote a project's team uses."""
