"""Every prompt and template of memorist, as Markdown: a folder for each subsystem."""
