"""The translator: order, blank lines, batches, n-best lists, scores and long lines."""

import re

import pytest
import torch
from small_models import knows
from translating import Characters, Function

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.model.pipeline_glossa import LOWEST_SCORE, TranslationPipeline, search_distinct
from glossa.model.sentences_glossa import clean_text, split_text
from glossa.model.spans_glossa import MARK
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Checks, Engine, Execution, Search, Translation
from glossa.translate.translator import Translator

TEXT = [
    f"The {noun} {verb} a {other}."
    for noun in ("cat", "dog")
    for verb in ("sees", "eats")
    for other in ("mouse", "bird")
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([TEXT * 3], vocab_size=280, max_length=40)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(11)
    config = GlossaConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=64,
        decoder_ffn_dim=64, initialization="normal", init_std=0.4,
    )  # fmt: skip
    return GlossaForConditionalGeneration(config).eval()


SENTENCES = ["The dog eats a bird.", "cat", "", "The cat sees a mouse, and the dog sees a bird.", "   ", "A"]


def test_one_translation_per_line_in_order(model, tokenizer):
    together = Translator(model, tokenizer, Search(2)).best(SENTENCES)
    one_by_one = [Translator(model, tokenizer, Search(2)).best([sentence])[0] for sentence in SENTENCES]
    assert together == one_by_one == Translator(model, tokenizer, Search(2), execution=Execution(1)).best(SENTENCES)
    assert len(set(together)) > 3, "translations must differ for the order to be tested"


def test_blank_lines_have_blank_translations(model, tokenizer):
    results = Translator(model, tokenizer, Search(3, 3)).translate(SENTENCES)
    assert [len(translations) for translations in results] == [3] * len(SENTENCES)
    assert [t.text for t in results[2] + results[4]] == [""] * 6


def test_text_of_invisible_characters_is_blank(model, tokenizer):
    invisible = ["\u200b", "\0", " \u2060\u200d"]
    assert Translator(model, tokenizer).best([*invisible, SENTENCES[0]])[:3] == [""] * 3
    translate = TranslationPipeline(model, tokenizer)
    for split_sentences in (True, False):
        found = translate(invisible, split_sentences=split_sentences)
        assert found == [{"translation_text": ""}] * 3


def test_lines_before_a_too_long_line_are_translated(model, tokenizer):
    lines = ["cat", "dog", "The cat sees. " * 50, "bird"]
    done = []
    with pytest.raises(GlossaError, match=r"Line 3: .* tokens; the model takes 40"):
        for line, _ in Translator(model, tokenizer, execution=Execution(split_sentences=False)).stream(lines):
            done.append(line)
    assert done == lines[:2]


def test_long_input_is_read_in_chunks(model, tokenizer):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield "cat"

    stream = Translator(model, tokenizer).stream(endless(), chunk=5)
    line, translations = next(stream)
    assert len(taken) == 5 and line == "cat"
    assert translations[0].text == Translator(model, tokenizer).best(["cat"])[0]


def test_more_translations_than_beams_are_refused(model, tokenizer):
    with pytest.raises(GlossaError, match=r"num_return_sequences is 3 and num_beams 2"):
        Translator(model, tokenizer, Search(2, 3))


def test_every_sentence_of_a_line_is_translated(model, tokenizer):
    one, two = "The cat sees a mouse.", "The dog eats a bird."
    found = Translator(model, tokenizer, execution=Execution(split_sentences=True)).best(
        [f"{one}  {two}", one, "", two]
    )
    first, second = Translator(model, tokenizer).best([one, two])
    assert found == [f"{first}  {second}", first, "", second]


def test_n_best_of_a_line_joins_ranks_and_adds_scores(model, tokenizer):
    one, two = "The cat sees a mouse.", "The dog eats a bird."
    search = Search(3, 2, scores=True)
    (found,) = Translator(model, tokenizer, search, execution=Execution(split_sentences=True)).translate(
        [f"{one} {two}"]
    )
    first, second = Translator(model, tokenizer, search).translate([one, two])
    assert [one.text for one in found] == [f"{a.text} {b.text}" for a, b in zip(first, second, strict=True)]
    sums = [a.score + b.score for a, b in zip(first, second, strict=True)]
    assert [one.score for one in found] == pytest.approx(sums)


def test_a_line_beyond_the_model_is_cut_and_translated_whole(model, tokenizer):
    line = "The cat sees a mouse, " * 30
    (found,) = Translator(model, tokenizer, execution=Execution(split_sentences=True)).best([line])
    pieces, between = split_text(clean_text(line), lambda text: len(tokenizer(text)["input_ids"]) <= 40)
    assert len(pieces) > 5 and all(piece.endswith(",") for piece in pieces)
    read = [*(f"{piece[:-1]}." for piece in pieces[:-1]), pieces[-1]]  # by the model
    *parts, last = Translator(model, tokenizer).best(read)
    expected = [*(re.sub(r"(?<=[^.])\.$", ",", part) for part in parts), last]
    assert found == "".join(a + b for a, b in zip(expected, between, strict=True)) + " "


def test_a_sentence_longer_than_those_of_the_training_is_cut(model, tokenizer):
    line = "The cat sees a mouse, the dog eats a bird, the cat eats a bird."
    pieces = ["The cat sees a mouse.", "the dog eats a bird.", "the cat eats a bird."]  # as the model reads them
    lengths = [len(tokenizer(text)["input_ids"]) for text in (*pieces, line)]
    engine = GenerateEngine(model, tokenizer)
    knows(engine, trained_length=max(lengths[:3]))
    assert engine.profile.trained_length < lengths[3] <= tokenizer.model_max_length
    *parts, last = Translator(model, tokenizer).best(pieces)
    expected = " ".join([*(re.sub(r"(?<=[^.])\.$", ",", part) for part in parts), last])
    assert Translator(engine, tokenizer).best([line]) == [expected]
    assert Translator(engine, tokenizer, execution=Execution(split_sentences=False)).best([line]) != [expected]
    # The pipeline reads it from the configuration, as the engine does.
    knows(model.config, trained_length=engine.profile.trained_length)
    try:
        assert Translator(model, tokenizer).best([line]) == [expected]
        (found,) = TranslationPipeline(model, tokenizer)(line)
    finally:
        knows(model.config, trained_length=None)
    assert found["translation_text"] == expected


def test_learned_abbreviations_keep_a_sentence_whole(model, tokenizer):
    line = "The cat sees geg. The mouse geg. Cats eat."
    engine = GenerateEngine(model, tokenizer)
    knows(engine, abbreviations=frozenset({"geg"}))
    whole = Translator(model, tokenizer, execution=Execution(split_sentences=False))
    expected = whole.best(["The cat sees geg.", "The mouse geg. Cats eat."])
    assert Translator(engine, tokenizer).best([line]) == [" ".join(expected)]
    assert Translator(model, tokenizer).best([line]) != [" ".join(expected)]


def test_what_is_no_text_is_copied(model, tokenizer):
    texts = ["42", "1. cat", "- dog 😀", "...", "https://example.org/a"]
    cat, dog = Translator(model, tokenizer).best(["cat", "dog"])
    expected = ["42", f"1. {cat}", f"- {dog} 😀", "...", "https://example.org/a"]
    assert Translator(model, tokenizer).best(texts) == expected
    found = TranslationPipeline(model, tokenizer)(texts, return_scores=True)
    assert [one["translation_text"] for one in found] == expected
    assert [found[0]["score"], found[3]["score"]] == [0, 0]
    several = Translator(model, tokenizer, Search(2, 2, scores=True)).translate(["42"])
    assert [(one.text, one.score) for one in several[0]] == [("42", 0.0), ("", 0.0)]


NOT_UTF8 = b"The caf\xe9 is open.".decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(("on_error", "expected"), [("blank", ["", ""]), ("copy", [NOT_UTF8, "word " * 50])])
def test_texts_that_cannot_be_translated_do_not_stop_the_others(model, tokenizer, on_error, expected):
    texts = ["cat", NOT_UTF8, "word " * 50, "dog"]
    translator = Translator(model, tokenizer, checks=Checks(on_error), execution=Execution(split_sentences=False))
    first, *failed, last = [found[0] for found in translator.translate(texts)]
    assert [first.text, last.text] == Translator(model, tokenizer).best(["cat", "dog"])
    assert [one.text for one in failed] == expected and all(one.failed for one in failed)
    assert not first.failed and not last.failed
    assert failed[0].problem.startswith("not UTF-8 (byte 0xe9 at column 8)")
    assert "tokens; the model takes 40" in failed[1].problem


def test_the_number_of_a_line_counts_all_chunks(model, tokenizer):
    for before, chunk in ((1, 64), (4, 2)):
        with pytest.raises(GlossaError, match=f"Line {before + 1}: not UTF-8"):
            list(Translator(model, tokenizer).stream(["cat"] * before + [NOT_UTF8], chunk=chunk))


class Scripted(Engine):
    """Gives the texts in `answers`, one list for each call, and keeps the settings of the calls."""

    num_beams = 2

    def __init__(self, *answers):
        self.answers, self.calls = list(answers), []

    def translate(self, sources, search):
        self.calls.append((len(sources), search.num_beams, search.no_repeat_ngram_size))
        return [Translation(text) for text in self.answers.pop(0)]


SOURCES = ["A cat sees a mouse and a bird.", "cat", "The dog eats with the other dogs."]
LOOP = "Die Katze und die Katze und die Katze und die Katze und die Katze"


def test_implausible_translations_are_marked(tokenizer):
    engine = Scripted(["Katze", "", LOOP])  # the shortest source comes first
    found = Translator(engine, tokenizer, execution=Execution(split_sentences=False)).translate(SOURCES)
    assert [one.problem for (one,) in found] == ["empty", "", "repetitive"]
    assert len(engine.calls) == 1, "nothing is searched again unless asked for"


def test_implausible_translations_are_searched_again(tokenizer):
    engine = Scripted(["Katze", "", LOOP], ["Eine Katze sieht eine Maus und einen Vogel.", LOOP])
    translator = Translator(
        engine, tokenizer, checks=Checks(retry_implausible=True), execution=Execution(split_sentences=False)
    )
    found = translator.translate(SOURCES)
    assert [one.text for (one,) in found] == ["Eine Katze sieht eine Maus und einen Vogel.", "Katze", LOOP]
    assert [one.problem for (one,) in found] == ["", "", "repetitive"]
    assert engine.calls == [(3, 2, 0), (2, 4, 3)]


@pytest.mark.parametrize(("sampled", "answers"), [(False, ["Katze", "Hund"]), (True, ["Katze", "Tier", "Hund"])])
def test_equal_texts_are_translated_once_but_drawn_each_on_its_own(tokenizer, sampled, answers):
    engine = Scripted(answers)
    engine.sampled = sampled
    first, second, third = Translator(engine, tokenizer).best(["cat", "a dog", "cat"])
    assert second == "Hund" and {first, third} == set(answers) - {"Hund"}
    assert engine.calls == [(len(answers), 2, 0)]


def test_every_translation_of_a_text_is_checked(tokenizer):
    engine = Scripted(["Der Hund frisst mit den anderen Hunden.", SOURCES[2], LOOP, ""])
    translator = Translator(engine, tokenizer, Search(4, 4), execution=Execution(split_sentences=False))
    (found,) = translator.translate(SOURCES[2:])
    assert [one.problem for one in found] == ["", "copied", "repetitive", "empty"]


def test_a_problem_in_one_sentence_is_a_problem_of_the_line(tokenizer):
    engine = Scripted(["Katze.", ""])
    ((found,),) = Translator(engine, tokenizer).translate(["Cat. The dog eats a bird."])
    assert (found.text, found.problem) == ("Katze. ", "empty")


@pytest.mark.parametrize("split", [True, False])
def test_the_config_says_whether_text_is_split(model, tokenizer, split):
    line = "The cat sees a mouse. The dog eats a bird."
    expected = Translator(model, tokenizer, execution=Execution(split_sentences=split)).best([line])
    knows(model.config, split_sentences=split)
    try:
        assert Translator(model, tokenizer).best([line]) == expected
    finally:
        knows(model.config, split_sentences=True)


def test_n_best_lists_have_different_texts():
    texts = {2: ["a", "a", "b", "c"], 8: [*"aabbaabb", *"bbccaaaa"]}
    calls = []

    def search(sources, num_beams):
        calls.append((sources, num_beams))
        rows = texts[num_beams]
        return [text for source in sources for text in rows[source * num_beams : (source + 1) * num_beams]]

    assert search_distinct(search, [0, 1], 2, 2, str, "-") == ["a", "b", "b", "c"]
    assert calls == [([0, 1], 2), ([0], 8)]
    texts[8] = [*"aaaaaaaa", *"bbbbbbbb"]
    assert search_distinct(search, [0, 1], 2, 2, str, "-") == ["a", "-", "b", "c"]


def test_two_segmentations_of_one_text_are_one_translation(model, tokenizer):
    translator = Translator(model, tokenizer, Search(8, 8, scores=True))
    for translations in translator.translate(["cat", "A", "The dog eats a bird."]):
        texts = [one.text for one in translations if one.score != LOWEST_SCORE]
        assert len(texts) == len(set(texts)) and len(translations) == 8


def test_numbers_that_were_lost_are_translated_as_marks():
    # It loses numbers, and in one sentence the mark as well.
    engine = Function(lambda text: re.sub(f"[0-9]+|{MARK}(?= lost)", "", text), mask_items=True)
    texts = ["We saw 250 dogs.", "We saw dogs.", "In 1999 we saw 250 and me@a.org.", "We saw 250 lost dogs."]
    found = Translator(engine, Characters()).best(texts)
    assert found[:3] == texts[:3]
    assert found[3] == "We saw  lost dogs 250."
