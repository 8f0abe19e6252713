"""Skills: procedures in plain files that an agent is told of and reads when they are wanted."""
