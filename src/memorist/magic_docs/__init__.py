"""Magic Docs: documents of the project that ask to be kept up to date (MD)."""
