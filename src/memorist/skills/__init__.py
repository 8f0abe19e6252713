"""Skills: procedures in plain files that an agent is shown by name and reads when needed.

Elsewhere: a procedure proven by past sessions (`rollouts.skill_procedures`).
"""
