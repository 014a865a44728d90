"""Tokenizer training: byte-level BPE, Unigram, WordPiece, words or characters, with one or two vocabularies."""

import copy
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from ....base.errors import GlossaError
from ....base.tokens import target_vocabulary
from ..arguments import TokenizerArguments

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

    from ....model.tokenization_glossa import GlossaTokenizer

PAD, EOS, START, UNKNOWN = "<pad>", "</s>", "<s>", "<unk>"
MARKS = 0.05  # combining marks per letter
SPECIAL_TOKENS = [PAD, EOS, START, UNKNOWN]  # ids 0 to 3, the defaults of GlossaConfig

NORMALIZERS = {
    "nfkc": normalizers.NFKC(),
    "lowercase": normalizers.Lowercase(),
    "hyphens_to_spaces": normalizers.Replace(Regex(r"[-\u2010\u2011]"), " "),
    # The typographic apostrophe becomes the plain one, so that both spellings of a word have the same tokens.
    "strip_punctuation": normalizers.Sequence(
        [normalizers.Replace("\u2019", "'"), normalizers.Replace(Regex(r"[\p{P}\p{S}&&[^']]"), "")]
    ),
}
# Decoding joins words with spaces; these spaces are removed.
_UNWANTED_SPACES = (
    r" (?=[.,!?;:…)\]}”%])",
    r"(?<=[(\[{“]) ",
    r"(?<=\w ['’-]) (?=\w)",
    r"(?<=\w) (?=['’-]\w)",
)
Texts = Iterable[str] | Iterator[list[str]]


@dataclass(frozen=True)
class AddedTokens:
    """Tokens that are added to a vocabulary; their ids follow `SPECIAL_TOKENS`.

    Attributes:
        special: Further special tokens.
        languages: Codes of several target languages; the tokenizer is then a [`GlossaTokenizer`].
        kept: Characters that are always tokens, and that decoding keeps.
    """

    special: Sequence[str] = ()
    languages: Sequence[str] = ()
    kept: Sequence[str] = ()

    def names(self) -> list[str]:
        """The special tokens, with one for each language."""
        from ....model.tokenization_glossa import language_token

        return [*self.special, *map(language_token, self.languages)]


NONE_ADDED = AddedTokens()


def train_tokenizer(
    texts: Texts,
    vocab_size: int,
    max_length: int = 512,
    options: TokenizerArguments | None = None,
    added: AddedTokens = NONE_ADDED,
    exact: bool = True,
    marks: bool = False,
) -> "PreTrainedTokenizerFast":
    """Train one vocabulary for both languages on `texts` (both sides of the training split only).

    The default is byte-level BPE (Radford et al. 2019, section 2.2), which has no unknown tokens. A space is added
    before the first word, so that its tokens are the same as within a sentence; decoding removes it. `</s>` is added
    at the end. Text that looks like a special token is encoded as text.

    Args:
        texts: Sentences, or batches of them.
        vocab_size: Size of the vocabulary, including special tokens and for byte-level BPE the 256 bytes. Unigram,
            whole words and characters may result in fewer tokens.
        max_length: Saved as `model_max_length`, which `truncation=True` uses.
        options: All other settings; its vocabulary sizes are ignored.
        added: Tokens to add.
        exact: Whether fewer tokens than `vocab_size` are an error for byte-level BPE and WordPiece.
        marks: Whether the text has many combining marks, see [`has_marks`].

    Raises:
        GlossaError: if `texts` have fewer tokens; the message has their number.
    """
    from transformers import PreTrainedTokenizerFast

    from ....model.tokenization_glossa import GlossaTokenizer

    options = options or TokenizerArguments()
    tokenizer = _train(texts, vocab_size, options, added, "vocab_size", exact, marks)
    source, settings = _with_special_tokens(tokenizer, options.source_special_tokens), _settings(max_length, added)
    if not added.languages:
        return PreTrainedTokenizerFast(tokenizer_object=source, **settings)
    target = _with_special_tokens(copy.deepcopy(tokenizer), "end")
    return GlossaTokenizer(tokenizer_object=source, target_tokenizer_object=target, **settings)


def train_tokenizer_pair(
    sources: Texts,
    targets: Texts,
    options: TokenizerArguments,
    max_length: int = 512,
    added: AddedTokens = NONE_ADDED,
    marks: bool = False,
) -> "GlossaTokenizer":
    """Like [`train_tokenizer`], with separate vocabularies of `options.vocab_size` and `options.target_vocab_size`.

    A target ends with `</s>`; the model adds `<s>` as the first decoder input.
    """
    from ....model.tokenization_glossa import GlossaTokenizer

    source = _train(sources, options.vocab_size, options, added, "vocab_size", marks=marks)
    size = options.target_vocab_size or options.vocab_size
    target = _train(targets, size, options, added, "target_vocab_size", marks=marks)
    return GlossaTokenizer(
        tokenizer_object=_with_special_tokens(source, options.source_special_tokens),
        target_tokenizer_object=_with_special_tokens(target, "end"),
        **_settings(max_length, added),
    )


def has_marks(texts: Iterable[str]) -> bool:
    """Whether there is more than one combining mark per twenty letters, as in Indic scripts, whose vowels are marks.

    The regular expression of byte-level BPE splits words at such marks, so they cannot become parts of longer pieces.
    For such text, words are split only at spaces.
    """
    counts = Counter(category(letter)[0] for text in texts for letter in text)
    return counts["M"] > MARKS * counts["L"]


def vocabulary_files(tokenizer: "PreTrainedTokenizerBase") -> list[str]:
    """The content that determines token ids, apart from languages: vocabularies, or the files of a slow tokenizer."""
    if hasattr(tokenizer, "backend_tokenizer"):
        return [tokenizer.backend_tokenizer.to_str(), target_vocabulary(tokenizer).to_str()]
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        return [json.dumps({file.name: file.read_bytes().hex()}) for file in sorted(Path(folder).iterdir())]


def _settings(max_length: int, added: AddedTokens) -> dict:
    return {
        "pad_token": PAD,
        "eos_token": EOS,
        "bos_token": START,
        "unk_token": UNKNOWN,
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # "</s>" in the user's text is text
    } | ({"extra_special_tokens": names} if (names := added.names()) else {})


def _with_special_tokens(tokenizer: Tokenizer, where: str) -> Tokenizer:
    start, end = (START, EOS) if where == "start_end" else ("", "" if where == "none" else EOS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}".strip(),
        pair=f"{start} $A $B {end}".strip(),
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (start, end) if token],
    )
    return tokenizer


def _train(
    texts: Texts,
    vocab_size: int,
    options: TokenizerArguments,
    added: AddedTokens,
    name: str,
    exact: bool = True,
    marks: bool = False,
) -> Tokenizer:
    extra, kept = added.names(), added.kept
    special = [*SPECIAL_TOKENS, *extra, *kept]
    tokenizer, trainer = _BUILD[options.tokenizer_model](vocab_size, special, options, name)
    if marks and options.tokenizer_model == "bpe":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(" ?[^ ]+| +"), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
            ]
        )
    if kept:
        tokenizer.pre_tokenizer = _add_one_prefix(tokenizer.pre_tokenizer, options)
    if options.tokenizer_model in ("unigram", "wordpiece", "word"):  # these would find special tokens within words
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [tokenizer.pre_tokenizer, _split_special_tokens([*SPECIAL_TOKENS, *extra])]
        )
    if options.normalization:
        tokenizer.normalizer = normalizers.Sequence([NORMALIZERS[step] for step in options.normalization])
    tokenizer.train_from_iterator(_both_forms(texts) if options.tokenizer_model == "wordpiece" else texts, trainer)
    learned = tokenizer.get_vocab_size()
    if learned <= len(special):
        raise GlossaError(
            f"The training text has no token that occurs {options.min_frequency} times. Lower min_frequency, or give "
            "more text."
        )
    if exact and learned < vocab_size and options.tokenizer_model in ("bpe", "wordpiece"):
        raise GlossaError(
            f"{name} is {vocab_size}, but the training text supports only {learned} tokens "
            f"that occur {options.min_frequency} times or more. Set {name} to {learned} or less, or give more text."
        )
    return _as_text(tokenizer, kept) if kept else tokenizer


def _split_special_tokens(special: Sequence[str]) -> pre_tokenizers.Split:
    """Split text that looks like a special token after its first character, so that it is encoded as text."""
    patterns = (f"{re.escape(token[0])}(?={re.escape(token[1:])})" for token in special)
    return pre_tokenizers.Split(Regex("|".join(patterns)), "isolated")


def _add_one_prefix(pre_tokenizer, options: TokenizerArguments):
    """A `pre_tokenizer` that adds a space only before the first word of a text, not after a `kept` token."""
    if options.tokenizer_model == "unigram":
        return pre_tokenizers.Metaspace(prepend_scheme="first")
    if options.tokenizer_model != "bpe":
        return pre_tokenizer
    steps = json.loads(pre_tokenizer.__getstate__())
    for step in steps.get("pretokenizers", [steps]):
        if step["type"] == "ByteLevel":
            step["add_prefix_space"] = False
    first = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="first", split=False)
    rest = pre_tokenizers.ByteLevel()
    rest.__setstate__(json.dumps(steps).encode())
    return pre_tokenizers.Sequence([first, rest])


def _as_text(tokenizer: Tokenizer, kept: Sequence[str]) -> Tokenizer:
    """Make the `kept` tokens non-special, so that encoding finds them in texts and decoding keeps them."""
    plain = json.loads(tokenizer.to_str())
    for token in plain["added_tokens"]:
        if token["content"] in kept:
            token["special"] = False
    return Tokenizer.from_str(json.dumps(plain))


def _byte_level_bpe(vocab_size: int, special: list[str], options: TokenizerArguments, name: str):
    smallest = len(pre_tokenizers.ByteLevel.alphabet()) + len(special)
    if vocab_size < smallest:
        raise GlossaError(f"{name} is {vocab_size}; byte-level BPE needs at least {smallest}.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer, trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=options.min_frequency,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )


def _unigram(vocab_size: int, special: list[str], options: TokenizerArguments, name: str):
    """Subwords of a unigram language model (Kudo 2018); a space is part of the following word."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=special, unk_token=UNKNOWN, show_progress=False
    )


def _wordpiece(vocab_size: int, special: list[str], options: TokenizerArguments, name: str):
    """WordPiece (Wu et al. 2016, section 4.1); subwords that continue a word are marked by ##."""
    # In a language without spaces, a whole sentence is one word to this tokenizer.
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=10_000))
    tokenizer.pre_tokenizer = _words(options)
    tokenizer.decoder = _spaced(decoders.WordPiece(prefix="##", cleanup=False), options)
    return tokenizer, trainers.WordPieceTrainer(
        vocab_size=vocab_size, min_frequency=options.min_frequency, special_tokens=special, show_progress=False
    )


def _both_forms(texts: Texts) -> Iterator[str]:
    """Yield the texts, then every character twice, so that WordPiece learns it at the start of words and within them.

    Otherwise a character in a new position makes its word unknown; in scripts without spaces, the whole sentence.
    """
    characters: set[str] = set()
    for item in texts:
        for text in [item] if isinstance(item, str) else item:
            characters.update(text)
            yield text
    yield " ".join(2 * character for character in sorted(characters))


def _whole_words(vocab_size: int, special: list[str], options: TokenizerArguments, name: str):
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = _words(options)
    tokenizer.decoder = _spaced(decoders.Replace(Regex("^"), " "), options)
    return tokenizer, trainers.WordLevelTrainer(
        vocab_size=vocab_size, min_frequency=options.min_frequency, special_tokens=special, show_progress=False
    )


def _characters(vocab_size: int, special: list[str], options: TokenizerArguments, name: str):
    """Every character (Unicode code point), including spaces, is a token."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer, trainers.WordLevelTrainer(
        vocab_size=vocab_size, min_frequency=options.min_frequency, special_tokens=special, show_progress=False
    )


def _words(options: TokenizerArguments):
    return pre_tokenizers.Whitespace() if options.split_punctuation else pre_tokenizers.WhitespaceSplit()


def _spaced(decoder, options: TokenizerArguments):
    steps = [decoder, decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    if options.split_punctuation:
        steps += [decoders.Replace(Regex(pattern), "") for pattern in _UNWANTED_SPACES]
    return decoders.Sequence(steps)


_BUILD = {"bpe": _byte_level_bpe, "unigram": _unigram, "wordpiece": _wordpiece, "word": _whole_words}
_BUILD |= {"character": _characters}
