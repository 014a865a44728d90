"""Applications of a trained model: documents, a server, and a page in the browser.

In: files and requests. Out: the same with translations. The apps import `translate` and the rooms below it. Training
and the apps never import each other.
"""
