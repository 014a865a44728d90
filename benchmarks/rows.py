"""The rows of the tables of `python -m benchmarks reproduce`: a recipe, and the settings that differ from it."""

BF16 = {"bf16": "true"}
MORE_DROPOUT = {"dropout": "0.3"}  # than the recipe's
LESS_DROPOUT = {"dropout": "0.1"}
ONE_PASS = {"num_train_epochs": "1"}
THREE_PASSES = {"num_train_epochs": "3"}
SIX_PASSES = {"num_train_epochs": "6"}
SHORT = BF16 | MORE_DROPOUT | {"num_train_epochs": "12"}
FURTHER = {"learning_rate": "2e-3", "muon_learning_rate": "1e-2"}  # half of the recipe's
REVERSE = {"source_language": "de", "target_language": "en"}
TEACHER = BF16 | LESS_DROPOUT | {"batch_tokens": "2048", "gradient_accumulation_steps": "1"}
SMALL = {  # the size and the schedule of multi30k-en-de
    "d_model": "128",
    "encoder_ffn_dim": "256",
    "decoder_ffn_dim": "256",
    "learning_rate": "4e-3",
    "muon_learning_rate": "2e-2",
    "warmup_steps": "400",
}
QUICK = BF16 | LESS_DROPOUT | SIX_PASSES
AUGMENTED = {"augmentation": "standard"}
LONGER = LESS_DROPOUT | SIX_PASSES | {"warmup_steps": "400"}  # the recipe quickstart until 27 November 2026
FEW_LINES = QUICK | {"num_train_epochs": "20", "vocab_size": "4000", "warmup_steps": "0.1"}
# Tables of rows: a name, the recipe and the settings that differ from it; init_from is another row of the table.
TABLES: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "quickstart": {"recipe": ("quickstart", {})},
    "multi30k": {
        "published-recipe": ("multi30k-en-de-tiny", BF16),
        "published-recipe-fr": ("multi30k-en-de-tiny", BF16 | {"target_language": "fr"}),
        "glossa": ("multi30k-en-de", BF16),
        "glossa-fr": ("multi30k-en-de", BF16 | {"target_language": "fr"}),
        "dropout-0.1": ("multi30k-en-de", BF16 | LESS_DROPOUT),
        "dropout-0.3": ("multi30k-en-de", BF16 | MORE_DROPOUT),
        "dropout-0.3-fr": ("multi30k-en-de", BF16 | MORE_DROPOUT | {"target_language": "fr"}),
        # Nearly as long as the published recipe.
        "longer": ("multi30k-en-de", BF16 | MORE_DROPOUT | {"num_train_epochs": "50"}),
        # German to English, a teacher of the next rows.
        "reverse-less-dropout": ("multi30k-en-de", SHORT | REVERSE | LESS_DROPOUT),
        # The recipe's own weights, trained further on four times the pairs, less duplicates.
        "continued-less-dropout": (
            "multi30k-en-de",
            BF16 | FURTHER | {"init_from": "glossa", "num_train_epochs": "8"},
        ),
        # The same from `longer`.
        "continued-longer": (
            "multi30k-en-de",
            BF16 | FURTHER | {"init_from": "longer", "num_train_epochs": "6"},
        ),
    },
    # Short trainings without and with augmentation, on text as it is.
    "robustness": {
        "multi30k": ("multi30k-en-de", QUICK),
        "multi30k-augmented": ("multi30k-en-de", QUICK | AUGMENTED),
        "anki": ("anki-en-fr", LESS_DROPOUT | SMALL | ONE_PASS),
        "anki-augmented": ("anki-en-fr", LESS_DROPOUT | SMALL | ONE_PASS | AUGMENTED),
        "quickstart": ("quickstart", BF16 | LONGER | THREE_PASSES),
        "quickstart-augmented": ("quickstart", BF16 | LONGER | THREE_PASSES | AUGMENTED),
    },
    # Short trainings into and from other languages, on text as it is.
    "languages": {
        "anki-en-ja": ("anki-en-fr", QUICK | SMALL | THREE_PASSES | {"target_language": "ja"}),
        "anki-ja-en": (
            "anki-en-fr",
            QUICK | SMALL | THREE_PASSES | {"source_language": "ja", "target_language": "en"},
        ),
        "anki-en-zh": ("anki-en-fr", QUICK | SMALL | {"target_language": "zh"}),
        "anki-zh-en": ("anki-en-fr", QUICK | SMALL | {"source_language": "zh", "target_language": "en"}),
        "multi30k-en-cs": ("multi30k-en-de", QUICK | THREE_PASSES | {"target_language": "cs"}),
        "tico19-en-hi": ("multi30k-en-de", FEW_LINES | {"target_language": "hi"}),
        "tico19-en-sw": ("multi30k-en-de", FEW_LINES | {"target_language": "sw"}),
    },
    # Anki's English-French pairs, split by sentences that have a translation in common.
    "anki": {
        "recipe": ("anki-en-fr", BF16),
        "six-passes": ("anki-en-fr", BF16 | SIX_PASSES),
        # 12 million parameters.
        "six-layers": ("anki-en-fr", BF16 | SIX_PASSES | {"encoder_layers": "6", "decoder_layers": "6"}),
        # The teachers of `further`, which starts with the weights of the first.
        "five-passes": ("anki-en-fr", TEACHER | {"num_train_epochs": "5"}),
        "reverse": (
            "anki-en-fr",
            TEACHER | {"num_train_epochs": "4", "source_language": "fr", "target_language": "en"},
        ),
        # The weights of `five-passes`, trained further on three times the pairs, less duplicates.
        "further": ("anki-en-fr", BF16 | {"init_from": "five-passes", "num_train_epochs": "3.5"}),
        # The same again from `further`, longer.
        "further-again": ("anki-en-fr", BF16 | {"init_from": "further", "num_train_epochs": "6"}),
    },
}
# Tables whose text is not lowercased and tokenized.
AS_IT_IS = {"robustness", "languages"}
# Rows that are also trained on translations of the training pairs, by the models of other rows with the same seed.
TEACHERS = {
    "continued-less-dropout": ("glossa", "dropout-0.1", "reverse-less-dropout"),
    "continued-longer": ("glossa", "reverse-less-dropout", "longer"),
    "further": ("five-passes", "reverse"),
    "further-again": ("five-passes", "reverse"),
}
