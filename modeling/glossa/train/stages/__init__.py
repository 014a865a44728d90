"""A training in stages: one command, one folder, and hours that count everything."""
