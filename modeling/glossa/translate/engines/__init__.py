"""What translates token ids, each an `Engine`: transformers' `generate`, CTranslate2, ensembles, given beginnings."""
