"""Shared foundations: errors, the files of a run, languages, paths, caching, batches, word alignment and metrics.

Modules here are independent of training, translation and file formats, and import only each other and `model`.
"""
