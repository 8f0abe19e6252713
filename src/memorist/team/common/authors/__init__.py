"""Who changed what in a team."""
