"""The common base texts of merges."""
