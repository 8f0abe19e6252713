"""OpenTelemetry spans for the host's observability: forks by the GenAI conventions, our own work
under our own names.

Elsewhere: what memorist spends (`budget`); events for a host (`events`).
"""
