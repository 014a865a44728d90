"""Further merges of byte-pair encoding, by hand and against a vocabulary that was learned at once."""

from collections import Counter

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from glossa.base.errors import GlossaError
from glossa.train.data.encoding.extension import extend_vocabulary, further_merges, piece_parts


def learned(texts, size):
    vocabulary = Tokenizer(models.BPE())
    vocabulary.pre_tokenizer = pre_tokenizers.Whitespace()
    vocabulary.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, show_progress=False))
    return vocabulary


def test_merges_by_hand():
    words = Counter({("a", "b", "c"): 3, ("b", "c"): 2, ("a", "b", "d"): 1})
    # b c 5 times, then a bc 3 times; a b d is left once.
    assert further_merges(words, 5, set("abcd")) == [("b", "c"), ("a", "bc")]
    assert further_merges(Counter({("a", "a", "a", "a"): 2}), 5, {"a"}) == [("a", "a"), ("aa", "aa")]


def test_further_pieces_cut_the_text_as_if_they_were_learned_at_once():
    texts = ["hug pug pun bun hugs hugging bunny punning puns bugs"] * 3 + ["hugs bunnies hugging"] * 2
    few, many = learned(texts, 20), learned(texts, 32)
    more = extend_vocabulary(few, texts, 12, few.get_vocab_size())
    words = sorted({word for text in texts for word in text.split()})
    assert [len(more.encode(word).ids) for word in words] == [len(many.encode(word).ids) for word in words]
    assert {few.get_vocab()[piece] == more.get_vocab()[piece] for piece in few.get_vocab()} == {True}
    assert more.decode(more.encode("hugging").ids).replace(" ", "") == "hugging"


def test_the_parts_of_a_piece_are_old_ones():
    few = learned(["ab abc abc"] * 4, 3)
    more = extend_vocabulary(few, ["abc abc"] * 3, 2, few.get_vocab_size())
    ids = few.get_vocab()
    parts = piece_parts(more, few.get_vocab_size())
    assert parts[more.token_to_id("abc")] == [ids["a"], ids["b"], ids["c"]]


def test_other_kinds_of_vocabularies_are_refused():
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(GlossaError, match="the tokenizer of init_from is of the kind WordLevel"):
        extend_vocabulary(words, ["a"], 3, 1)
