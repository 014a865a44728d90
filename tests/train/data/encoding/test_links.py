"""Links of words as links of tokens, and batches with them."""

import pytest
import torch
from datasets import Dataset, DatasetDict
from transformers import DataCollatorForSeq2Seq

from glossa.model.tokenization_glossa import language_token
from glossa.train.data.arguments import DataArguments, TokenizerArguments
from glossa.train.data.cleaning.report import DataReport
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.encoding.links import LinkCollator, token_links
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair

SOURCE, TARGET = "The dog, hungry.", "Der hungrige Hund."
WORDS = [0, 0, 1, 2, 2, 1, 3, 1, 4, 3]  # hungry and the comma with hungrige, dog with Hund


def tokenizers():
    texts = [SOURCE, TARGET, "hungry hungry dog dog Hund Hund"] * 5
    one = train_tokenizer(texts, 290, exact=False)
    two = train_tokenizer_pair(texts[::3], texts[1::3], TokenizerArguments(vocab_size=270, target_vocab_size=272))
    tagged = train_tokenizer(texts, 290, exact=False, added=AddedTokens(languages=["de", "fr"])).into("de")
    words = train_tokenizer(
        texts, 40, options=TokenizerArguments(tokenizer_model="word", split_punctuation=True, min_frequency=1)
    )
    return {"shared": one, "two": two, "several languages": tagged, "words": words}


@pytest.mark.parametrize("name", ["shared", "two", "several languages", "words"])
def test_links_of_tokens_are_those_of_their_words(name):
    tokenizer = tokenizers()[name]
    (found,) = token_links(tokenizer, [SOURCE], [TARGET], [WORDS])
    ids = tokenizer([SOURCE])["input_ids"][0], tokenizer(text_target=[TARGET])["input_ids"][0]
    vocabularies = tokenizer.backend_tokenizer, getattr(tokenizer, "target_tokenizer", tokenizer.backend_tokenizer)
    tokens = [[vocabulary.decode([i]) for i in side] for vocabulary, side in zip(vocabularies, ids, strict=True)]
    text = {(tokens[0][a].strip(), tokens[1][b].strip()) for a, b in zip(found[::2], found[1::2], strict=True)}
    if name == "words":
        assert text == {("The", "Der"), ("dog", "Hund"), ("hungry", "hungrige"), (",", "hungrige"), (".", ".")}
    of_hund = [number for number, token in enumerate(tokens[1]) if token.strip() and token.strip() in "Hund"]
    sources = {a for a, b in zip(found[::2], found[1::2], strict=True) if b in of_hund}
    assert "".join(tokens[0][a] for a in sorted(sources)).strip() == "dog"
    end = len(tokens[1]) - 1
    assert end not in found[1::2], "the end of the sentence has no links"
    if name == "several languages":
        assert tokenizer.convert_tokens_to_ids(language_token("de")) == ids[0][0] and 0 not in found[::2]


def test_a_batch_has_the_shares_of_source_tokens():
    tokenizer = tokenizers()["shared"]
    collate = LinkCollator(DataCollatorForSeq2Seq(tokenizer))
    rows = [
        {"input_ids": [5, 6, 7, 1], "labels": [8, 9, 1], "links": [0, 0, 1, 1, 2, 1]},
        {"input_ids": [5, 1], "labels": [8, 9, 10, 11, 1], "links": []},
        {"input_ids": [5, 1], "labels": [8, 1]},  # an augmented one
    ]
    batch = collate(rows)
    expected = torch.zeros(3, 5, 4)
    expected[0, 0, 0], expected[0, 1, 1], expected[0, 1, 2] = 1, 0.5, 0.5
    assert batch["alignments"].equal(expected)
    assert "links" in rows[0] and "alignments" not in collate(rows[2:])


def test_training_rows_have_links_and_others_have_none():
    pairs = Dataset.from_dict({"source": [SOURCE, "The dog."] * 40, "target": [TARGET, "Der Hund."] * 40})
    data = DatasetDict(train=pairs, validation=pairs.select([0]))
    tokenizer = tokenizers()["words"]
    report = DataReport()
    report.sizes["train"], report.splits["train"] = 80, {}
    found = tokenize_pairs(data, tokenizer, DataArguments(max_length=20), report, linked=True)
    assert "links" not in found["validation"].column_names
    rows = found["train"][:]
    words = ["The", "dog", "."], ["Der", "Hund", "."]
    pairs_of = [(words[0][a], words[1][b]) for a, b in zip(rows["links"][1][::2], rows["links"][1][1::2], strict=True)]
    assert ("The", "Der") in pairs_of and ("dog", "Hund") in pairs_of and (".", ".") in pairs_of
    assert "links" not in tokenize_pairs(data, tokenizer, DataArguments(max_length=20), report)["train"].column_names
