"""Settings and data to a trained, scored, published model.

In: settings (`plan`). Out: the folder of a run, by `run.train`. Rooms inside: `data` makes batches of pairs, `plan`
decides and checks the settings, `evaluation` scores, `hub` publishes. Only the command imports this wing.
"""
