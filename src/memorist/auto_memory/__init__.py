"""Auto memory: facts kept about a project across sessions, in typed topic files behind one
index.

Elsewhere: finding and showing memories (`recall`); memory made of past sessions (`rollouts`);
memory put in order (`dream`); memory shared with others (`team`) or between machines
(`machines`).
"""
