"""What happened, as OpenTelemetry spans for whoever watches the host: forks by the GenAI conventions, our own work under our own names."""
