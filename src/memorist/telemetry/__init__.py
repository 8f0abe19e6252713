"""OpenTelemetry spans for the host's observability: forks by the GenAI conventions, our own work
under our own names.
"""
