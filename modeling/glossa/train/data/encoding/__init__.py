"""Tokenization of pairs: vocabularies, corruption for pretraining, token links and augmented rows."""
