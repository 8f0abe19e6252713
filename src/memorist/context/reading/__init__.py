"""Reading one instruction file, with everything that can be wrong with it."""
