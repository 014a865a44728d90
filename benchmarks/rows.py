"""The rows of the tables of `python -m benchmarks reproduce`: a recipe, and the settings that differ from it."""

BF16 = {"bf16": "true"}
ADAMW = {"muon_learning_rate": "null"}
MORE_DROPOUT = {"dropout": "0.3"}  # than the recipe's
LESS_DROPOUT = {"dropout": "0.1"}
SHORT = BF16 | MORE_DROPOUT | {"num_train_epochs": "12"}
FOUR_THOUSAND = {"vocab_size": "4000"}
ONE_PASS = {"num_train_epochs": "1"}
THREE_PASSES = {"num_train_epochs": "3"}
TWO_PASSES = {"num_train_epochs": "2"}
SIX_PASSES = {"num_train_epochs": "6"}
PLAIN_SIX = MORE_DROPOUT | SIX_PASSES
SIX = FOUR_THOUSAND | PLAIN_SIX
FEW_STEPS = BF16 | MORE_DROPOUT | {"num_train_epochs": "24", "warmup_steps": "0.1"}
FEW = FEW_STEPS | {"max_train_samples": "10000"}
FEWER = FEW | {"max_train_samples": "2500", "num_train_epochs": "40"}
LOW = SIX | {"muon_learning_rate": "1e-2"}  # lower than the recipe's
FURTHER = {"learning_rate": "2e-3", "muon_learning_rate": "1e-2"}  # half of the recipe's
LATENT = {"num_key_value_heads": "null", "kv_lora_rank": "64", "qk_rope_head_dim": "16"}
REVERSE = {"source_language": "de", "target_language": "en"}
CLASSIC = {  # the parts of multi30k-en-de-tiny
    "position_embedding_type": "sinusoidal",
    "norm_type": "layer",
    "norm_eps": "1e-5",
    "norm_position": "post",
    "final_norm": "false",
    "activation_function": "relu",
    "gated_feed_forward": "false",
    "feed_forward_bias": "true",
    "query_key_value_bias": "true",
    "attention_output_bias": "true",
}
TEACHER = BF16 | LESS_DROPOUT | {"batch_tokens": "2048", "gradient_accumulation_steps": "1"}
EXPERTS = {"num_local_experts": "4", "num_experts_per_tok": "1"}
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
    # Each means alone, in short runs, against the recipe.
    "means": {
        "plain": ("multi30k-en-de", SHORT),
        "adamw": ("multi30k-en-de", SHORT | ADAMW),
        "classic-parts": ("multi30k-en-de", SHORT | CLASSIC),
        "vocabulary-2k": ("multi30k-en-de", SHORT | {"vocab_size": "2000"}),
        "vocabulary-4k": ("multi30k-en-de", SHORT | FOUR_THOUSAND),
        "half-batch": ("multi30k-en-de", SHORT | {"gradient_accumulation_steps": "1"}),
    },
    # More means, in six passes.
    "short-means": {
        "plain": ("multi30k-en-de", PLAIN_SIX),
        "adamw": ("multi30k-en-de", PLAIN_SIX | ADAMW),
        "half-batch": ("multi30k-en-de", PLAIN_SIX | {"gradient_accumulation_steps": "1"}),
        "vocabulary-1k": ("multi30k-en-de", PLAIN_SIX | {"vocab_size": "1000"}),
        "vocabulary-2k": ("multi30k-en-de", PLAIN_SIX | {"vocab_size": "2000"}),
        "vocabulary-4k": ("multi30k-en-de", PLAIN_SIX | FOUR_THOUSAND),
        "dropout-0.1": ("multi30k-en-de", PLAIN_SIX | {"dropout": "0.1"}),
        "dropout-0.2": ("multi30k-en-de", PLAIN_SIX | {"dropout": "0.2"}),
        "dropout-0.4": ("multi30k-en-de", PLAIN_SIX | {"dropout": "0.4"}),
    },
    # The optimizer, in six passes; Muon at 0.01 is the first row of the next table.
    "optimizers": {
        "adamw": ("multi30k-en-de", SIX | ADAMW),
        "muon-0.02": ("multi30k-en-de", SIX | {"muon_learning_rate": "2e-2"}),
        "muon-0.02-warmup-100": ("multi30k-en-de", SIX | {"muon_learning_rate": "2e-2", "warmup_steps": "100"}),
        "muon-0.05": ("multi30k-en-de", SIX | {"muon_learning_rate": "5e-2"}),
    },
    # The optimizer on the corpus in the package.
    "quickstart": {
        "adamw-6": ("quickstart", LONGER | ADAMW),
        "muon-6": ("quickstart", LONGER),
        "adamw-3": ("quickstart", LONGER | ADAMW | THREE_PASSES),
        "muon-3": ("quickstart", LONGER | THREE_PASSES),
        "recipe": ("quickstart", {}),
        "no-dropout-3": ("quickstart", THREE_PASSES | {"dropout": "0"}),
    },
    # Latent attention and experts at the parameters or at the operations of the recipe, in six passes, Muon at 0.01.
    "architectures": {
        "dense": ("multi30k-en-de", LOW),
        "latent-attention": ("multi30k-en-de", LOW | LATENT),
        "experts-equal-operations": ("multi30k-en-de", LOW | EXPERTS),
        "experts-equal-parameters": (
            "multi30k-en-de",
            LOW | EXPERTS | {"encoder_ffn_dim": "64", "decoder_ffn_dim": "64"},
        ),
    },
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
        # All other rows have a dropout of 0.3 too, except `continued-longer` and those named less-dropout.
        "vocabulary-4k": ("multi30k-en-de", FOUR_THOUSAND | MORE_DROPOUT),
        # German to English, for the rows `diversified`.
        "reverse": ("multi30k-en-de", SHORT | REVERSE),
        "reverse-4k": ("multi30k-en-de", FOUR_THOUSAND | MORE_DROPOUT | REVERSE | {"num_train_epochs": "12"}),
        # About as many steps as `dropout-0.3`, on three times the pairs.
        "diversified": ("multi30k-en-de", BF16 | MORE_DROPOUT | {"num_train_epochs": "10"}),
        "diversified-2k": ("multi30k-en-de", MORE_DROPOUT | {"vocab_size": "2000", "num_train_epochs": "10"}),
        # As many steps as in twelve passes, on the pairs and their translations by a better model.
        "distilled": ("multi30k-en-de", SHORT | {"num_train_epochs": "6"}),
        # The recipe's own weights, trained further on four times the pairs, less duplicates.
        "reverse-less-dropout": ("multi30k-en-de", SHORT | REVERSE | LESS_DROPOUT),
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
    # The vocabulary with only 10,000 pairs, or with 2,500, which have fewer than 8,000 pieces.
    "few-pairs": {
        f"vocabulary-{size // 1000}k": ("multi30k-en-de", FEW | {"vocab_size": str(size)})
        for size in (1000, 2000, 4000, 8000)
    }
    | {
        "2500-pairs": ("multi30k-en-de", FEWER | {"vocab_size": "4000"}),
        "2500-pairs-1k": ("multi30k-en-de", FEWER | {"vocab_size": "1000"}),
        "2500-pairs-longer": ("multi30k-en-de", FEWER | {"vocab_size": "4000", "num_train_epochs": "120"}),
        # German to English on the 10,000 pairs, and English to German on these and the back-translations by `reverse`
        # of the German side of all further pairs, in about as many steps as `vocabulary-8k`.
        "reverse": ("multi30k-en-de", FEW | REVERSE | LESS_DROPOUT),
        "back-translated": ("multi30k-en-de", FEW_STEPS | {"num_train_epochs": "8"}),
    },
    "multi30k-cased": {
        "glossa": ("multi30k-en-de", {}),
        "glossa-fr": ("multi30k-en-de", {"target_language": "fr"}),
        "dropout-0.3": ("multi30k-en-de", MORE_DROPOUT),
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
    # Anki's English-French pairs in two passes: the optimizer, and pairs held out at random.
    "anki-short": {
        "adamw": ("anki-en-fr", BF16 | TWO_PASSES),
        "muon-0.02": ("anki-en-fr", BF16 | TWO_PASSES | {"muon_learning_rate": "2e-2"}),
        "muon-0.005": ("anki-en-fr", BF16 | TWO_PASSES | {"muon_learning_rate": "5e-3"}),
        "random-split": ("anki-en-fr", TWO_PASSES),
    },
    # Anki's English-French pairs, split by sentences that have a translation in common, except in the last row.
    "anki": {
        "recipe": ("anki-en-fr", BF16),
        "six-passes": ("anki-en-fr", BF16 | SIX_PASSES),
        # 12 million parameters.
        "six-layers": ("anki-en-fr", BF16 | SIX_PASSES | {"encoder_layers": "6", "decoder_layers": "6"}),
        "random-split": ("anki-en-fr", BF16 | SIX_PASSES),
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
        # Longer still, with more dropout.
        "further-dropout-0.2": (
            "anki-en-fr",
            BF16 | {"init_from": "further-again", "dropout": "0.2", "num_train_epochs": "5"},
        ),
    },
}
# Tables whose text is not lowercased and tokenized.
AS_IT_IS = {"robustness", "languages", "multi30k-cased"}
# Rows of [`TEACHERS`] whose teacher, of the opposite direction, translates the targets that it was not trained on.
BACK_TRANSLATED = {"back-translated"}
# The row of a table with which its other rows are compared, by paired bootstrap.
BASELINES = {"means": "plain", "short-means": "plain"}
# Rows with pairs held out at random, so that held-out sentences also occur in training.
RANDOM_SPLITS = {"random-split"}
# Rows that are also trained on translations of the training pairs, by the models of other rows with the same seed.
TEACHERS = {
    "diversified": ("vocabulary-4k", "reverse-4k"),
    "diversified-2k": ("vocabulary-4k", "reverse-4k"),
    "distilled": ("longer",),
    "continued-less-dropout": ("glossa", "dropout-0.1", "reverse-less-dropout"),
    "continued-longer": ("glossa", "reverse-less-dropout", "longer"),
    "back-translated": ("reverse",),
    "further": ("five-passes", "reverse"),
    "further-again": ("five-passes", "reverse"),
    "further-dropout-0.2": ("five-passes", "reverse"),
}
