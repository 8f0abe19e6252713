"""Language models that implement the `Model` port: Anthropic Messages, OpenAI Responses, Chat
Completions, an embedded small model.

Elsewhere: what a model is asked, in the package that asks; forks with tools (`forks`); what it
may cost (`budget`).
"""
