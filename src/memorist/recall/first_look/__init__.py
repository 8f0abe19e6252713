"""The first look at a folder where many files are new."""
