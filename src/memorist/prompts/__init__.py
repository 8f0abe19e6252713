"""All prompts and templates of memorist, as Markdown: one folder per subsystem.

Elsewhere: filling them in (`core.prompt_templates`).
"""
