"""The pairs that the benchmarks use: Multi30k, Anki, or the corpus in the package."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import langcodes
from datasets import DatasetDict
from transformers import PreTrainedTokenizerBase

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.data.pairs import prepare_pairs

VOCABULARY, EMBEDDED_VOCABULARY = 8000, 1200
MULTI30K = {"data_path": "train", "validation_path": "val", "test_path": "test_2016_flickr"}


@dataclass
class Corpus:
    """Clean pairs, their tokens, and the tokenizer, learned from the training split."""

    name: str
    pairs: DatasetDict
    tokenized: DatasetDict
    tokenizer: PreTrainedTokenizerBase


def data_arguments(folder: str | None, language: str = "fr") -> DataArguments:
    """The data settings for a folder with Multi30k or Anki; without a folder, for the embedded corpus."""
    if folder is None:
        return DataArguments(dataset="embedded")
    files: dict[str, Any] = {
        name: [str(Path(folder) / f"{part}.{side}.gz") for side in ("en", language)] for name, part in MULTI30K.items()
    }
    if all(Path(path).is_file() for paths in files.values() for path in paths):
        return DataArguments(dataset="files", target_language=language, **files)
    own = f"{langcodes.get(language).to_alpha3()}-eng.zip"
    archives = sorted(Path(folder).glob("*-eng.zip"), key=lambda path: (path.name != own, path.name))
    if archives:
        return DataArguments(dataset="anki", data_path=[str(archives[0])], target_language=language)
    raise GlossaError(
        f"--data {folder} holds neither Multi30k (train.en.gz, train.{language}.gz, and so on) nor an archive of Anki "
        "(fra-eng.zip). Give such a folder, or leave out --data for the embedded corpus."
    )


def vocabulary(folder: str | None) -> int:
    """The size of the vocabulary for the pairs of `folder`."""
    return EMBEDDED_VOCABULARY if folder is None else VOCABULARY


def load_corpus(folder: str | None, language: str = "fr") -> Corpus:
    """Read, clean, split and tokenize the pairs of `folder`, as a run does."""
    arguments = data_arguments(folder, language)
    pairs, report = prepare_pairs(arguments)
    tokenizer = train_tokenizer(chain(pairs["train"]["source"][:], pairs["train"]["target"][:]), vocabulary(folder))
    name = "the embedded corpus" if folder is None else Path(folder).name
    return Corpus(name, pairs, tokenize_pairs(pairs, tokenizer, arguments, report), tokenizer)
