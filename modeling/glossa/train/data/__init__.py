"""Data of a run: cleaning of pairs, splitting without leaks, vocabularies and tokenization.

From `DataArguments` to a `DatasetDict` of pairs with a report, and then of token ids.
"""
