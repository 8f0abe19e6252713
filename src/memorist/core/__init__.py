"""Pure values and algorithms. Imports nothing of memorist but this folder and the exceptions, and does no I/O."""
