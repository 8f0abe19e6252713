"""Reading one instruction file, with all that can be wrong with it."""
