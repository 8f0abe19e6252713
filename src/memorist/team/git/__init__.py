"""A Git branch as a team's remote."""
