"""All prompts and templates of memorist, as Markdown: one folder per subsystem."""
