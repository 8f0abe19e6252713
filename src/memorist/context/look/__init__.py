"""Looking up the surroundings: folder, shell, system, date, git."""
