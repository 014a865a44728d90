"""The sentences before a pair in its document."""

import pytest
from datasets import DatasetDict

from glossa.batches_glossa import TextTooLong, encode_texts
from glossa.data.arguments import DataArguments
from glossa.data.cleaning.context import without_held_out
from glossa.data.encoding.encoding import tokenize_pairs
from glossa.data.encoding.vocabulary import train_tokenizer
from glossa.data.pairs import prepare_pairs
from glossa.segments_glossa import BEFORE, in_context, model_texts, segment_text, split_context

NONE = {"validation_size": 0, "test_size": 0, "trust_data": ["true"]}


def pairs_of(*arguments, **settings):
    return prepare_pairs(DataArguments(*arguments, dataset="files", **(NONE | settings)))[0]


def rows(dataset, split="train"):
    return dict(zip(dataset[split]["source"][:], dataset[split]["context"][:], strict=True))


@pytest.fixture
def documents(tmp_path):
    """Two documents of a few sentences; one has a repeated sentence, and a row with an empty side."""
    first = ["One .\tUn .", "Two .\tDeux .", "Three .\tTrois .", "Nothing .\t", "Four .\tQuatre .", "Five .\tCinq ."]
    texts = {"a": first, "b": ["Six .\tSix !", "Two .\tDeux .", "Seven .\tSept ."]}
    for name, lines in texts.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines))
    return [str(tmp_path / f"{name}.tsv") for name in texts]


def test_a_sentence_gets_the_one_before_it_in_its_file(documents):
    assert rows(pairs_of(data_path=documents, context=1)) == {
        "One .": "", "Two .": "One .", "Three .": "Two .",
        "Four .": "",  # after a row that is no pair
        "Five .": "Four .", "Six .": "", "Seven .": "Two .",
    }  # fmt: skip
    assert "context" not in pairs_of(data_path=documents)["train"].column_names


def test_several_sentences_stand_in_order(documents):
    found = rows(pairs_of(data_path=documents, context=2))
    assert found["Three ."] == f"One .{BEFORE} Two ." and found["Two ."] == "One ." and found["Five ."] == "Four ."
    assert split_context(in_context(["One .", "Two ."], "Three .")) == (["One .", "Two ."], "Three .")


def test_a_source_can_have_less(documents):
    entries = [{"data_path": documents[:1]}, {"data_path": documents[1:], "context": 0}]
    found = prepare_pairs(DataArguments(sources=entries, context=1, **NONE))[0]
    assert rows(found)["Two ."] == "One ." and rows(found)["Seven ."] == ""


def test_held_out_sentences_are_never_before_a_training_sentence(tmp_path):
    lines = "".join(f"word{number} .\tmot{number} .\n" for number in range(40))
    (tmp_path / "all.tsv").write_text(lines)
    found = pairs_of(data_path=[str(tmp_path / "all.tsv")], context=2, validation_size=5, test_size=5)
    assert [len(found[name]) for name in ("train", "validation", "test")] == [30, 5, 5]
    held_out = {text for name in ("validation", "test") for text in found[name]["source"]}
    before = [split_context(text) for text in found["train"]["context"]]
    assert not held_out & {text for first, last in before for text in [*first, last]}
    # A held-out sentence ends what comes before: the next row has nothing, the one after it one sentence.
    numbers = {int(text.split()[0][4:]) for text in held_out}
    for number, text in ((int(source.split()[0][4:]), text) for source, text in rows(found).items()):
        expected = []
        for other in (number - 1, number - 2):
            if other < 0 or other in numbers:
                break
            expected.insert(0, f"word{other} .")
        assert text == f"{BEFORE} ".join(expected)
    # The held-out pairs keep theirs: a translator has it.
    assert all(text for source, text in rows(found, "test").items() if source not in ("word0 .", "word1 ."))


def test_a_sentence_that_given_held_out_pairs_have_is_not_before_another(documents, tmp_path):
    (tmp_path / "test.tsv").write_text("TWO\tautre\n")
    found = pairs_of(data_path=documents, context=1, test_path=[str(tmp_path / "test.tsv")], keep_overlap=True)
    assert rows(found)["Three ."] == "" and rows(found)["Five ."] == "Four ."
    cleared = without_held_out(found["train"], DatasetDict(train=found["train"]))
    assert cleared["context"][:] == found["train"]["context"][:]


def test_what_is_read_begins_with_the_sentences_before(documents):
    arguments = DataArguments(dataset="files", data_path=documents, context=1, max_length=8, **NONE)
    pairs, report = prepare_pairs(arguments)
    texts = [*pairs["train"]["source"], *pairs["train"]["target"]]
    tokenizer = train_tokenizer(2 * texts, 300, exact=False, kept=[BEFORE])
    ids = dict(zip(pairs["train"]["source"][:], tokenizer(pairs["train"]["source"][:])["input_ids"], strict=True))
    read = tokenize_pairs(pairs, tokenizer, arguments, report)["train"]
    mark = tokenizer.convert_tokens_to_ids(BEFORE)
    for row, source, before in zip(read, pairs["train"]["source"], pairs["train"]["context"], strict=True):
        assert row["input_ids"] == ([*ids[before][:-1], mark] if before else []) + ids[source]
        assert row["source_length"] == len(row["input_ids"])
    assert set(read.column_names) == {"input_ids", "labels", "source_length", "target_length"}


def test_too_much_before_a_sentence_is_left_out(documents, tmp_path):
    (tmp_path / "long.tsv").write_text("a b c d e f g h i j .\tun .\nTwo .\tDeux .\n")
    arguments = DataArguments(
        dataset="files", data_path=[str(tmp_path / "long.tsv")], context=1, max_length=5, max_length_ratio=100, **NONE
    )
    pairs, report = prepare_pairs(arguments)
    assert pairs["train"]["context"][:] == ["", "a b c d e f g h i j ."]
    tokenizer = train_tokenizer(
        [*pairs["train"]["source"], "Two . Two .", "Deux . un ."] * 3, 300, exact=False, kept=[BEFORE]
    )
    read = tokenize_pairs(pairs, tokenizer, arguments, report)["train"]
    assert read["input_ids"][:] == [tokenizer("Two .")["input_ids"]]  # the long row itself is dropped


def test_sentences_before_that_do_not_fit_are_left_out_of_what_is_translated():
    tokenizer = train_tokenizer(["One. Two. Three."] * 3, 300, exact=False, kept=[BEFORE], max_length=8)
    lengths = [len(ids) - 1 for ids in tokenizer(["One.", "Two.", "Three."])["input_ids"]]
    assert sum(lengths) + 3 > 8 >= sum(lengths[1:]) + 2  # with a mark for each, and the end
    whole, shorter = encode_texts(tokenizer, [in_context(["Two."], "Three."), in_context(["One.", "Two."], "Three.")])
    assert whole == shorter == tokenizer(in_context(["Two."], "Three."))["input_ids"]
    with pytest.raises(TextTooLong):
        encode_texts(tokenizer, [in_context(["One."], "Three. Three. Three. Three. Three. Three.")])


def test_a_text_is_read_sentence_by_sentence():
    segments = segment_text("One. 😀 Two. Three.")
    assert model_texts(segments) == ["One.", "Two.", "Three."]
    assert model_texts(segments, 1) == ["One.", f"One.{BEFORE} Two.", f"Two.{BEFORE} Three."]
    assert model_texts(segments, 2, ["A.", "B."])[0] == f"A.{BEFORE} B.{BEFORE} One."
    assert model_texts(segments, 2)[2] == f"One.{BEFORE} Two.{BEFORE} Three."
