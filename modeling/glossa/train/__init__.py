"""Training: from settings and data to a trained, evaluated and published model.

`run.train` takes settings and writes the folder of a run. `data` builds batches of pairs, `plan` chooses and checks
settings, `evaluation` scores the model and `hub` publishes it. Only the command line imports this package.
"""
