"""Stage two: consolidation of the memory folder."""
