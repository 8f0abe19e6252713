"""Language models that implement the `Model` port: Anthropic Messages, OpenAI Responses, Chat
Completions, an embedded small model.
"""
