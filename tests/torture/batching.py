"""Random mixtures of texts, in batches of random sizes: each translation must be that of the text alone."""

import random

import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration, TranslationPipeline
from glossa.model.sentences_glossa import clean_text
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer, train_tokenizer_pair

POOL = 150  # texts; each is translated alone once for each of the settings
# Among them words whose NFC form has fewer or more characters.
WORDS = [
    "the", "cat", "sat", "on", "a", "mat", "le", "chat", "dort", "e\u0301te\u0301", "\u0958\u0958", "\ufb2c" * 3,
    "नमस्ते", "42", "3.5", "где", "кошка", "спит", "猫は眠る", "猫", "在", "哪里", "القطة", "😀",
]  # fmt: skip
ENDS = [".", "?", " !", "...", "…", "。", "！", "؟", "।", ".”", ""]
BLANKS = ["", " ", "\n", "\t \n", "\u00a0", "\u2028", "\ufeff", "\u200b"]
SETTINGS = [
    {"num_beams": 1}, {"num_beams": 1, "return_scores": True, "max_new_tokens": 10},
    {"num_beams": 2, "max_new_tokens": 9}, {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 16},
    {"num_beams": 3, "num_return_sequences": 3, "return_scores": True, "max_new_tokens": 12},
    {"num_beams": 4, "length_penalty": 0.2, "max_new_tokens": 12},
]  # fmt: skip


def torture(count: int, seed: int) -> dict:
    """Translations of `count` mixtures. Raises `AssertionError` with the texts that differ from those alone.

    Returns the numbers of mixtures, of texts in them, of blank ones, of texts of several sentences, and of texts that
    were translated alone for the comparison.
    """
    chance = random.Random(seed)
    pool = [random_text(chance) for _ in range(min(POOL, 4 * count))]
    pipelines = [_pipeline(two) for two in (False, True)]
    alone: dict = {}
    texts_seen = blanks = several = 0
    for mixture in range(count):
        which, chosen = chance.randrange(2), chance.randrange(len(SETTINGS))
        translate, settings = pipelines[which], SETTINGS[chosen] | {"split_sentences": True}
        texts = [chance.choice(pool) for _ in range(chance.randint(1, 24))]
        found = translate(texts, batch_size=chance.randint(1, 32), **settings)
        for text, one in zip(texts, found, strict=True):
            key = which, chosen, text
            if key not in alone:
                alone[key] = translate([text], batch_size=1, **settings)[0]
            assert _same(one, alone[key]), (
                f"seed {seed}, mixture {mixture}, {settings}: {text!r} gives {one} among {texts}, alone {alone[key]}"
            )
            texts_seen += 1
            blanks += not text.strip()
            several += len(translate.preprocess(text, split_sentences=True)["pieces"]) > 1
    return {"mixtures": count, "texts": texts_seen, "blank": blanks, "several_sentences": several, "alone": len(alone)}


def random_text(chance: random.Random) -> str:
    """A text of none to many sentences, in several scripts, of words of random lengths and with odd white space."""
    if chance.random() < 0.1:
        return chance.choice(BLANKS)
    sentences = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        words = [chance.choice(WORDS) for _ in range(chance.choice((1, 1, 2, 3, 5, 13)))]
        words = [word * chance.choice((1, 1, 1, 1, 3)) for word in words]
        space = chance.choice((" ", " ", " ", "  ", "\u00a0", "\t"))
        sentences.append(space.join(words).capitalize() + chance.choice(ENDS))
    return chance.choice((" ", " ", "\n", "  ", "\n\n")).join(sentences)


def build(two_vocabularies: bool):
    """A model with one vocabulary or two that translates every text differently, and its tokenizer; positions 48."""
    chance = random.Random(0)
    torch.manual_seed(0)
    texts = [clean_text(random_text(chance)) for _ in range(400)]  # as in training
    if two_vocabularies:
        options = TokenizerArguments(vocab_size=400, target_vocab_size=380)
        tokenizer = train_tokenizer_pair(texts, texts[::-1], options, 48)
    else:
        tokenizer = train_tokenizer(texts, 400, max_length=48)
    sizes = {"decoder_vocab_size": 380, "share_encoder_decoder_embeddings": False} if two_vocabularies else {}
    config = GlossaConfig(
        vocab_size=400, d_model=16, encoder_ffn_dim=24, decoder_ffn_dim=24, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=tokenizer.bos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id, **sizes,
    )  # fmt: skip
    model = GlossaForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return model, tokenizer


def _pipeline(two_vocabularies: bool) -> TranslationPipeline:
    model, tokenizer = build(two_vocabularies)
    return TranslationPipeline(model.double(), tokenizer)  # in float64 the size of a batch changes no choice


def _same(one, other) -> bool:
    ones, others = (found if isinstance(found, list) else [found] for found in (one, other))
    return len(ones) == len(others) and all(
        a.keys() == b.keys()
        and a["translation_text"] == b["translation_text"]
        and abs(a.get("score", 0.0) - b.get("score", 0.0)) < 1e-6
        for a, b in zip(ones, others, strict=True)
    )
