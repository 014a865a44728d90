"""Apply a function to many items, in local processes or on a Ray cluster, with stages that resume after interruption.

Output files are either complete or absent.
"""
