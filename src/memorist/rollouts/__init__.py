"""Turn past sessions into memory in two stages: each finished session is extracted, then the
extracts are consolidated into files.
"""
