"""Pairs to token ids: vocabularies, corruption for pretraining, links of tokens, augmented rows."""
