"""Texts to translations with a trained model, of Glossa or of another family.

In: the name of a model, and texts. Out: translations, in order, checked, with the spans and tags of their texts.
`translator` is the one door: lines, documents, requests, scoring and distillation go through
`Translator.translate_segments`. Training, the apps and the command import this room; it imports none of them.
"""
