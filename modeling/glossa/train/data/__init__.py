"""Rows to batches: pairs that can be trusted, split without leaks, vocabularies, token ids.

In: `DataArguments`. Out: a `DatasetDict` of pairs with a report, and then of token ids.
"""
