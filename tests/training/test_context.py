"""Training on documents: a sentence is read after the one before it, in training and in translation."""

import json

import pytest
from datasets import Dataset, DatasetDict

from glossa import GlossaForConditionalGeneration, TranslationPipeline
from glossa.cli.prepare import main as prepare
from glossa.data.arguments import DataArguments
from glossa.data.cleaning.report import DataReport
from glossa.data.encoding.encoding import tokenize_pairs
from glossa.documents.marks import Part, take_off
from glossa.documents.segment import Texts
from glossa.errors import GlossaError
from glossa.evaluation.scoring import score_translator
from glossa.inference.translators import build_translator
from glossa.plan.arguments import parse_settings
from glossa.plan.preflight import check_before_data
from glossa.run_folder import RunFolder
from glossa.segments_glossa import BEFORE
from glossa.serving.sentences import plans_of
from glossa.training.corrections import prepare as learn
from glossa.training.run import train

SOME = {"validation_size": 20, "test_size": 20}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """A text in which what "it" is depends on the sentence before: "he a k." and "it b l." is "b l lui!"."""
    path, lines = tmp_path_factory.mktemp("document") / "document.tsv", []
    for number, (a, b) in enumerate((a, b) for a in "abcdefghij" for b in "klmnopqrstuvwxyz"):
        who, pronoun = (("he", "lui"), ("she", "elle"))[number * 7 % 11 % 2]
        lines += [f"{who} {b} {a}.\t{b} {a} {who}!\n", f"it {a} {b}.\t{a} {b} {pronoun}!\n"]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def settings(document, tiny_settings):
    def arguments(folder, **changes):
        return tiny_settings(folder, **({"data_path": document, "context": 1, "vocab_size": 290} | SOME | changes))

    return arguments


@pytest.fixture(scope="module")
def run(settings, tmp_path_factory):
    long = {"num_train_epochs": 24, "learning_rate": 0.01, "d_model": 32, "encoder_ffn_dim": 64, "num_beams": 1,
            "decoder_ffn_dim": 64, "eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": "no",
            "batch_tokens": 200}  # fmt: skip
    return train(parse_settings(settings(tmp_path_factory.mktemp("runs") / "context", **long)))


def test_a_run_reads_the_sentence_before(run):
    translator = build_translator([str(run)])
    found = translator.best(["he k a. it b l.", "she k a. it b l.", "it b l."])
    assert [text.split("!")[1].split()[-1] for text in found[:2]] == ["lui", "elle"]
    assert translator.translate([f"she k a.{BEFORE} it b l."])[0][0].text == found[1].split("! ")[1]
    model = GlossaForConditionalGeneration.from_pretrained(run)
    assert model.config.context_sentences == 1 and RunFolder(run).recipe["context"] == 1
    pipeline = TranslationPipeline(model, translator.tokenizer)
    assert [one["translation_text"] for one in pipeline(["he k a. it b l.", "she k a. it b l.", "it b l."])] == found


def test_sources_that_are_read_after_others_are_counted(run, caplog):
    caplog.set_level("INFO", "glossa")
    sources = {"source": ["a k."] * 4, "target": ["k a!"] * 4, "context": ["", "b l.", "c m.", "d n. " * 50]}
    arguments = DataArguments(data_path=["pairs.tsv"], context=1, max_length=20)  # the last context is too long
    tokenizer = build_translator([str(run)]).tokenizer
    pairs, report = DatasetDict(train=Dataset.from_dict(sources)), DataReport(splits={"train": {}})
    tokenize_pairs(pairs, tokenizer, arguments, report)
    assert "train: 2 of 4 sources are read after sentences before them" in caplog.messages


def test_documents_and_the_page_read_it_too(run):
    translator = build_translator([str(run)])
    text = "she k a. it b l."
    (result,) = Texts(translator).translate([take_off([Part("text", 0, len(text), text)])])
    assert result.text == translator.best([text])[0]
    (plan,) = plans_of([text], translator)
    assert plan.asked == ["she k a.", f"she k a.{BEFORE} it b l."]


def test_held_out_pairs_are_scored_after_what_stands_before_them(run):
    pairs = RunFolder(run).load_held_out("test")
    assert set(pairs.column_names) == {"source", "target", "context"}
    translator = build_translator([str(run)])
    right = score_translator(translator, pairs, n_bootstrap=0)["scores"]["single"]["bleu"]["score"]
    alone = score_translator(translator, pairs.remove_columns("context"), n_bootstrap=0)
    assert right > alone["scores"]["single"]["bleu"]["score"] and right > 60
    assert RunFolder(run).metrics["test"]["greedy"]["scores"]["single"]["bleu"]["score"] == pytest.approx(right)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"augmentation": "standard"}, "augmentation changes the pairs"),
        ({"placeholder_augmentation": 0.1}, "augmentation changes the pairs"),
        ({"alignment_head": True}, "alignment_head is true, and words"),
        ({"objective": "masked_lm"}, "objective is masked_lm, which reads texts"),
        ({"streaming": True}, "streaming is true, and the rows of a stream are shuffled"),
    ],
)
def test_what_knows_no_sentence_before_is_refused(settings, tmp_path, changes, message):
    with pytest.raises(GlossaError, match=rf"context is 1, but {message}.*Leave one of the two out"):
        check_before_data(parse_settings(settings(tmp_path / "run", **changes)))


def test_sentences_of_no_document_are_refused(settings, tiny_run, document, tmp_path):
    sources = json.dumps([{"dataset": "anki"}, {"data_path": str(document), "context": 0}])
    argv = settings(tmp_path / "run", dataset="sources", sources=sources)
    del argv[(where := argv.index("--data_path")) : where + 2]
    with pytest.raises(GlossaError, match="context is 1, but the sentences of anki are of no document"):
        check_before_data(parse_settings(argv))
    argv[argv.index("--sources") + 1] = json.dumps([{"data_path": str(document), "context": 2}])
    with pytest.raises(GlossaError, match=r"sources: document has more context than the recipe \(1\)"):
        check_before_data(parse_settings(argv))
    with pytest.raises(GlossaError, match=r"context is 1, but tokenizer is .*no tokens for sentences before"):
        train(parse_settings(settings(tmp_path / "run", tokenizer=tiny_run, vocab_size=8000)))
    with pytest.raises(GlossaError, match="context is 1, but glossa prepare shuffles the pairs"):
        words = ["--dataset", "files", "--data_path", str(document), "--context", "1"]
        prepare([*words, "--output", str(tmp_path / "prepared")])


def test_corrections_of_such_a_run_are_refused(run, tmp_path):
    with pytest.raises(GlossaError, match="reads the sentence before, which corrections do not have"):
        learn(str(run), str(tmp_path / "corrections.jsonl"), str(tmp_path / "new"))


def test_a_resumed_run_keeps_it(settings, tmp_path):
    argv = settings(tmp_path / "run", max_steps=2, save_steps=1, eval_strategy="no", load_best_model_at_end="no")
    train(parse_settings(argv))
    with pytest.raises(GlossaError, match="context was 1 and is 0"):
        train(parse_settings([*argv, "--resume_from_checkpoint", "true", "--max_steps", "4", "--context", "0"]))
