"""Feature flags: settings that somebody may change while memorist runs, looked up without ever waiting (FG-2)."""
