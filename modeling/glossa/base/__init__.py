"""What every other room stands on: errors, the files of a run, languages, paths, caching, batches, words, scores.

Modules here know nothing of training, translating or file formats, and import only each other and `model`.
"""
