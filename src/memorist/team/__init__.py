"""Team memory: the folder `team/` of a memory folder, kept alike for everybody by a Git remote or a small server of ours."""
