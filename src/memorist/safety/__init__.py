"""Protection of stores and models: redacting secrets, finding hidden characters and prompt
injection, keeping data from posing as host markup. Pure.

Elsewhere: what happens to a memory that looks hostile (`auto_memory.write_gate`,
`auto_memory.visible_memory`).
"""
