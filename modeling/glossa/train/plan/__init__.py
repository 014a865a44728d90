"""Planning of a run before it starts: settings, model size, starting point, resuming, checks and devices."""
