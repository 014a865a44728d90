"""What is saved with a model and loaded without Glossa: configuration, model, search, tokenizer, pipeline, text rules.

In: token ids or texts. Out: losses, logits, token ids or translations. transformers copies these files next to the
weights, so they are flat and import each other as `from .x_glossa import y`. Otherwise they import only the standard
library, torch, transformers and tokenizers. Every room may import them.
"""
