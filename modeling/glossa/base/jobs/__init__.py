"""One function over many items: in processes of this machine or on a Ray cluster, with stages that can be continued.

In: items and a function. Out: its results, and files that are whole or not there.
"""
