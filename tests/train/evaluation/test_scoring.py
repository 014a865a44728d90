"""Scores of a translator on pairs, also against normalized references."""

from types import SimpleNamespace

import pytest
import sacrebleu
from datasets import Dataset

from glossa.base.errors import GlossaError
from glossa.cli import score
from glossa.cli.score import common, load_files
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.evaluation.samples import print_samples
from glossa.train.evaluation.scoring import score_table, score_translators
from glossa.translate.interface import Engine, Translation
from glossa.translate.translator import Translator

PAIRS = Dataset.from_dict(
    {
        "source": ["One cat sees two dogs.", "One bird sees ten cats!", "One bird sees ten cats!"],
        "target": ["Une chatte voit deux chiens.", "Un oiseau voit dix chats !", "L'oiseau voit dix chats."],
    }
)


class Fixed(Engine):
    num_beams = 1

    def translate(self, sources, search):
        # The shortest source comes first, and both have as many tokens.
        texts = ["une chatte voit deux chiens", "un oiseau voit dix chats"]
        return [Translation(text) for text in texts[: len(sources)]]


def translator(normalization):
    options = TokenizerArguments(normalization=normalization, tokenizer_model="word", min_frequency=1)
    tokenizer = train_tokenizer([[*PAIRS["source"], *PAIRS["target"]]], 40, 60, options)
    return Translator(Fixed(), tokenizer)


def test_references_are_normalized_as_the_tokenizer_does():
    results = score_translators([translator(["lowercase", "strip_punctuation"])], PAIRS, n_bootstrap=0)
    assert list(results) == ["greedy", "greedy, normalized references"]
    cased, normalized = (found["scores"]["single"]["bleu"]["score"] for found in results.values())
    assert cased < 60 and normalized == pytest.approx(100)
    assert "100.00" in score_table(results) and "[" not in score_table(results)  # no resamples, no intervals
    with_intervals = score_translators([translator(["lowercase", "strip_punctuation"])], PAIRS, n_bootstrap=5)
    assert "greedy, normalized references" in score_table(with_intervals)


def test_references_of_other_models_stay_as_they_are():
    (result,) = score_translators([translator([])], PAIRS, n_bootstrap=0).values()
    assert result["sources"] == ["One cat sees two dogs.", "One bird sees ten cats!"]
    assert result["references"][1] == ["Un oiseau voit dix chats !", "L'oiseau voit dix chats."]
    assert result["implausible"] == {}
    assert result["length"] == round((27 + 24) / (28 + 26), 4)


def test_every_line_of_a_test_set_counts_and_each_file_has_its_row():
    pairs = Dataset.from_dict({side: [*texts, texts[0]] for side, texts in PAIRS[:].items()})
    files = ["a.tsv", "a.tsv", "b.tsv", "b.tsv"]
    results = score_translators([translator([])], pairs, n_bootstrap=0, files=files)
    assert list(results) == ["a.tsv, greedy", "b.tsv, greedy", "all, greedy"]
    first, second, every = results.values()
    assert every["sources"] == pairs["source"][:] and len(every["translations"]) == 4
    # Each line is scored against its own reference first.
    assert every["references"][1:3] == [
        ["Un oiseau voit dix chats !", "L'oiseau voit dix chats."],
        ["L'oiseau voit dix chats.", "Un oiseau voit dix chats !"],
    ]
    expected = sacrebleu.corpus_bleu(every["translations"], [pairs["target"][:]]).score
    assert every["scores"]["single"]["bleu"]["score"] == pytest.approx(expected)
    assert first["sources"] + second["sources"] == every["sources"]
    expected = sacrebleu.corpus_bleu(every["translations"][2:], [pairs["target"][2:]]).score
    assert second["scores"]["single"]["bleu"]["score"] == pytest.approx(expected)
    assert list(score_translators([translator([])], pairs, n_bootstrap=0, files=["a.tsv"] * 4)) == ["greedy"]


def test_files_of_pairs_are_read_line_by_line(tmp_path):
    (tmp_path / "a.tsv").write_text("one two\tun deux\n" * 2 + "three\ttrois\n")
    (tmp_path / "b.tsv").write_text("one two\tun deux\n")
    paths = [str(tmp_path / name) for name in ("a.tsv", "b.tsv")]
    pairs, files = load_files(paths, {"source_language": "en", "target_language": "fr"})
    assert pairs["source"][:] == ["one two", "one two", "three", "one two"]
    assert files == ["a.tsv", "a.tsv", "a.tsv", "b.tsv"]


def test_sources_that_cannot_be_translated_are_counted_and_left_out(caplog):
    model = translator([])
    model.split_sentences = False
    model.tokenizer.model_max_length = 20
    pairs = Dataset.from_dict({"source": ["word " * 50, *PAIRS["source"]], "target": ["le " * 50, *PAIRS["target"]]})
    (result,) = score_translators([model], pairs, n_bootstrap=0).values()
    assert result["sources"] == ["One cat sees two dogs.", "One bird sees ten cats!"]
    assert len(result["references"]) == len(result["translations"]) == 2
    assert "1 of 3 sources are too long and are left out." in caplog.text
    with pytest.raises(GlossaError, match="Every source is longer than the model's maximum length"):
        score_translators([model], pairs.select([0]), n_bootstrap=0)


def test_models_are_compared_on_the_sources_that_both_can_translate(caplog):
    def result(*sources):
        translations = [f"translation of {source}" for source in sources]
        return {
            "sources": list(sources), "translations": translations,
            "references": [[text] for text in translations],
        }  # fmt: skip

    both = ["translation of a", "translation of b"]
    assert common(result("a", "b"), result("a", "b")) == (both, both, [[text] for text in both])
    assert not caplog.messages
    baseline, own, references = common(result("b", "c", "d"), result("a", "b", "d"))
    assert baseline == own == ["translation of b", "translation of d"] and references == [[text] for text in own]
    assert caplog.messages == ["The models are compared on the 2 sources that are short enough for both."]
    with pytest.raises(GlossaError, match="No source is short enough for both models"):
        common(result("a"), result("b"))


def test_a_launch_leaves_ray_out(tiny_run, monkeypatch):
    monkeypatch.setattr("glossa.base.jobs.sharing.processes", lambda: SimpleNamespace(num_processes=2))
    with pytest.raises(GlossaError, match="Start glossa score without a launcher"):
        score.main([str(tiny_run), "--ray", "auto"])


def test_long_texts_are_cut_in_the_log(capsys):
    print_samples([{"source": "a b", "greedy": "x" * 300}, {"source": "c", "beam 5": "y" * 301}])
    lines = capsys.readouterr().out.split("\n")
    first, second = "    greedy: " + "x" * 300, "    beam 5: " + "y" * 300 + "…"
    assert lines == ["    source: a b", first, "", "    source: c", second, "", ""]
