"""How vocabularies write a language: `python -m benchmarks pieces PAIRS --source_language en --target_language ja`.

For byte-level BPE and Unigram of several sizes, learned from the training pairs: pieces for each character of the
held-out validation pairs, the share of their target's pieces that are no whole characters (bytes of one, or unknown),
and the share of their target characters that the training pairs do not have.
"""

import argparse
import time
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from glossa.data.arguments import DataArguments, TokenizerArguments
from glossa.data.encoding.vocabulary import has_marks, target_vocabulary, train_tokenizer
from glossa.data.pairs import prepare_pairs
from glossa.training.building import SAMPLE

from .timing import table

MODELS = ("bpe", "unigram")
BROKEN = "\ufffd"  # how a part of a character is decoded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pairs", type=Path, nargs="+", metavar="PAIRS", help="files of pairs, as for data_path")
    parser.add_argument("--source_language", default="en", help="default: en")
    parser.add_argument("--target_language", required=True)
    meaning = "pieces of a vocabulary (default: 4000 8000 16000)"
    parser.add_argument("--sizes", type=int, nargs="+", default=[4000, 8000, 16000], help=meaning)


def run(arguments: argparse.Namespace) -> None:
    languages = {name: getattr(arguments, name) for name in ("source_language", "target_language")}
    pairs, _ = prepare_pairs(DataArguments(dataset="files", data_path=list(map(str, arguments.pairs)), **languages))
    texts = [[*pairs["train"][side]] for side in ("source", "target")]
    held_out = [[*pairs["validation"][side]] for side in ("source", "target")]
    rows, marks = [], any(has_marks(side[:SAMPLE]) for side in texts)
    for model in MODELS:
        for size in arguments.sizes:
            started = time.perf_counter()
            options = TokenizerArguments(tokenizer_model=model)
            tokenizer = train_tokenizer(texts, size, options=options, exact=False, marks=marks)
            seconds = time.perf_counter() - started
            rows.append({"vocabulary": f"{model}, {len(tokenizer):,}"} | measure(tokenizer, *held_out))
            rows[-1]["seconds to learn"] = f"{seconds:.0f}"
    print(table(rows))
    known = set().union(*map(set, texts[1]))
    characters = [character for text in held_out[1] for character in text]
    share = sum(character not in known for character in characters) / len(characters)
    print(f"\n{share:.2%} of the target characters do not occur in the training pairs.")


def measure(tokenizer: PreTrainedTokenizerBase, sources: list[str], targets: list[str]) -> dict[str, str]:
    """Pieces a character of both sides, and the share of pieces of the target that are no whole characters."""
    ids = [tokenizer(side, add_special_tokens=False)["input_ids"] for side in (sources, targets)]
    counts = [sum(map(len, side)) for side in ids]
    lengths = [sum(map(len, side)) for side in (sources, targets)]
    vocabulary = target_vocabulary(tokenizer)
    parts = {piece: vocabulary.decode([piece]) for row in ids[1] for piece in row}
    broken = sum(BROKEN in parts[piece] or piece == tokenizer.unk_token_id for row in ids[1] for piece in row)
    return {
        "source pieces a character": f"{counts[0] / lengths[0]:.3f}",
        "target pieces a character": f"{counts[1] / lengths[1]:.3f}",
        "target pieces that are no characters": f"{broken / counts[1]:.2%}",
    }
