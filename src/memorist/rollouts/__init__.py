"""Every past session becomes memory, in two stages: each finished session is extracted, and what was extracted is consolidated into files."""
