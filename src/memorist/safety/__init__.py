"""Protection of stores and models: redacting secrets, finding hidden characters and prompt
injection, keeping data from posing as host markup. Pure.
"""
