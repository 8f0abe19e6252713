"""Skills: procedures in plain files that an agent is shown by name and reads when needed."""
