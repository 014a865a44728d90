"""`glossa translate` with a glossary, confidence and alignments: all are those of the translation that is printed."""

import json

import pytest
import torch
from small_models import knows

from glossa.cli.translate import main
from glossa.translate.confidence import confidence, features
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.texts.alignment import AttentionAligner, link_rows

WEIGHTS = {"token_score": 2.0, "pieces": -0.25, "length": -1.0, "intercept": 3.0}
LINES = ["a k.", "b l.", "", "42", "c m."]
TERMS = "a\tq\nc\tr\n"


@pytest.fixture(scope="module")
def run(learned_run, tmp_path_factory):
    """A run with a confidence that takes sentences of any length."""
    folder = tmp_path_factory.mktemp("runs") / "confident"
    model = load_model(str(learned_run))
    knows(model.config, confidence=WEIGHTS, trained_length=None, length_ratio=1.0)
    model.save_pretrained(folder)
    load_tokenizer(str(learned_run)).save_pretrained(folder)
    return folder


@pytest.fixture
def translate(run, tmp_path, capsys):
    """The fields of the lines that the command prints, what it says, and its report."""

    def call(*options, terms=True):
        for name, text in (("in", "\n".join(LINES) + "\n"), ("terms.tsv", TERMS)):
            (tmp_path / name).write_text(text)
        given = ["--glossary", str(tmp_path / "terms.tsv")] if terms else []
        files = ["--input", str(tmp_path / "in"), "--report", str(tmp_path / "report"), "--report_all"]
        output = ["--output", str(tmp_path / "out")] if "--workers" in options else []
        main([str(run), *given, *files, *output, *options])
        printed = capsys.readouterr()
        out = (tmp_path / "out").read_text() if output else printed.out
        (tmp_path / "out").unlink(missing_ok=True)
        report = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
        return [line.split("\t") for line in out.split("\n")[:-1]], printed.err, report

    return call


@torch.no_grad()
def score(run, source, target):
    """The log-probability of a translation and its tokens, by one call of the model."""
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    ids = torch.tensor([tokenizer(source)["input_ids"]])
    labels = tokenizer(text_target=target)["input_ids"]
    start = torch.tensor([[model.config.decoder_start_token_id, *labels[:-1]]])
    found = model(ids, decoder_input_ids=start).logits[0].float().log_softmax(-1)
    return sum(found[place, token].item() for place, token in enumerate(labels)), len(labels), ids.shape[1]


@pytest.mark.parametrize("engine", ["torch", "auto"])
@pytest.mark.parametrize("workers", [[], ["--workers", "1"]])
@pytest.mark.slow
def test_each_is_that_of_the_translation_with_its_terms(run, translate, engine, workers):
    plain, _, _ = translate("--engine", engine, terms=False)
    found, said, report = translate("--engine", engine, "--scores", "--confidence", "--alignments", *workers)
    assert [len(fields) for fields in found] == [4] * len(LINES)
    texts = [fields[2] for fields in found]
    assert "q" in texts[0].split() and "r" in texts[4].split() and "2 terms found: 2 used" in said
    assert texts[1:4] == [plain[row][0] for row in (1, 2, 3)] and texts[0] != plain[0][0]
    for row in (0, 1, 4):
        total, tokens, pieces = score(run, LINES[row], texts[row])
        assert float(found[row][0]) == pytest.approx(total, abs=2e-3)
        values = features(LINES[row], texts[row], total / tokens, pieces, 1.0)
        assert float(found[row][1]) == pytest.approx(confidence(WEIGHTS, values), abs=1e-3)
        assert report[row]["confidence"] == float(found[row][1])
        words, shares = zip(*report[row]["words"], strict=True)
        assert list(words) == texts[row].split() and all(0 <= share <= 1 for share in shares)
    assert not any("words" in report[row] for row in (2, 3))
    assert [found[row][1] for row in (2, 3)] == ["1.0000", "1.0000"]
    tokenizer = load_tokenizer(str(run))
    aligner = AttentionAligner(GenerateEngine(load_model(str(run)), tokenizer), tokenizer)
    rows = [
        (source, Translation(text, parts=((source, text),) if text else ()))
        for source, text in zip(LINES, texts, strict=True)
    ]
    links = [" ".join(f"{one}-{other}" for one, other in own) for own in link_rows(rows, aligner)]
    assert [fields[3] for fields in found] == links and links[0] and links[4]


def test_several_translations_have_their_own(run, translate):
    found, _, _ = translate(
        "--engine", "torch", "--num_beams", "4", "--num_return_sequences", "2", "--confidence", "--alignments"
    )
    assert len(found) == 2 * len(LINES) and all(len(fields) == 3 for fields in found)
    for row in (0, 4):
        for share, text, links in found[2 * row : 2 * row + 2]:
            if text:
                total, tokens, pieces = score(run, LINES[row], text)
                values = features(LINES[row], text, total / tokens, pieces, 1.0)
                assert float(share) == pytest.approx(confidence(WEIGHTS, values), abs=1e-3)
                words = [int(link.split("-")[1]) for link in links.split()]
                assert words and max(words) < len(text.split())
            else:
                assert (float(share), links) == (0, "")


def test_forbidden_words_and_beginnings_too(translate):
    plain, _, _ = translate("--engine", "torch", terms=False)
    banned = plain[1][0].split()[0].strip(".!")
    found, _, _ = translate("--engine", "torch", "--confidence", "--alignments", "--forbid", banned, "--prefix", "B")
    assert all(fields[1].startswith("B") for fields in (found[0], found[1], found[4]))
    assert all(0 < float(fields[0]) < 1 and fields[2] for fields in (found[0], found[1], found[4]))


def test_doubtful_lines_are_listed_with_their_terms(translate):
    _, said, report = translate("--engine", "torch", "--min_confidence", "1", "--alignments")
    assert [row["problem"] != "" for row in report] == [True, True, False, False, True]
    assert "look uncertain" in said and "2 terms found: 2 used" in said
