"""What stands in the folders that skills are looked for in."""
