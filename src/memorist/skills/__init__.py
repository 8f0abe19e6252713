"""Skills: procedures in plain files that an agent is told about and reads when needed."""
