"""Words that are linked by the attention of a model, and links of translated lines."""

import io
import sys

import numpy
import pytest
import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.base.word_links import find_words
from glossa.cli.translate import main
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Search, Translation
from glossa.translate.texts import alignment
from glossa.translate.texts.alignment import AttentionAligner, Pair, link_rows, strong_links
from glossa.translate.translator import Translator

SOURCES = ["The dog sleeps.", "A cat."]
TARGETS = ["Der Hund schläft.", "Eine Katze!"]


def pair(source, target):
    return Pair(source, find_words(source), target, find_words(target))


def model_of(**changes):
    texts = [*SOURCES, *TARGETS] * 3
    tokenizer = train_tokenizer(texts, 300, exact=False)
    torch.manual_seed(1)
    config = GlossaConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=3, encoder_ffn_dim=16,
        decoder_ffn_dim=16, **changes,
    )  # fmt: skip
    return GlossaForConditionalGeneration(config).eval(), tokenizer


def test_the_trained_head_aligns_what_the_decoder_predicts(monkeypatch):
    monkeypatch.setattr(alignment, "FORM", 0)
    model, tokenizer = model_of(alignment_layer=1)
    found = AttentionAligner(GenerateEngine(model, tokenizer), tokenizer)(
        [pair(*texts) for texts in zip(SOURCES, TARGETS, strict=True)]
    )
    model.set_attn_implementation("eager")
    for source, target, links in zip(SOURCES, TARGETS, found, strict=True):
        ids, labels = tokenizer(source)["input_ids"], tokenizer(text_target=target)["input_ids"]
        read = torch.tensor([[model.config.decoder_start_token_id, *labels[:-1]]])
        weights = model(
            input_ids=torch.tensor([ids]), decoder_input_ids=read, output_attentions=True
        ).cross_attentions[1][0, 0]  # [T, S], the first head of the second layer
        texts = [tokenizer.decode([i]).strip() for i in ids], [tokenizer.decode([i]).strip() for i in labels]
        for column, (start, end) in enumerate(find_words(target)):
            word, sums = target[start:end], numpy.zeros(len(find_words(source)))
            tokens = _tokens_of(texts[1], word, target[:start])
            for row, (first, last) in enumerate(find_words(source)):
                of_source = _tokens_of(texts[0], source[first:last], source[:first])
                sums[row] = sum(weights[token, other].item() for token in tokens for other in of_source)
            assert links[:, column] == pytest.approx(sums / sums.sum(), abs=1e-5)


def _tokens_of(texts, word, before):
    """The tokens whose texts, one after another, are the word; `before` is the text before it."""
    length = len(before.replace(" ", ""))
    ends = numpy.cumsum([len(text) if text != "</s>" else 0 for text in texts])
    return [n for n, end in enumerate(ends) if length < end <= length + len(word) and texts[n] != "</s>"]


@pytest.mark.parametrize("trained", [None, 1])
def test_both_engines_give_the_attention_of_the_model(trained, tmp_path):
    """Of the last layer the mean of all heads; of a layer with a trained head, this one."""
    pytest.importorskip("ctranslate2")
    from glossa.translate.engines.ctranslate2 import load_engine
    from glossa.translate.export.ctranslate2_model import export_ctranslate2

    model, tokenizer = model_of(alignment_layer=trained)
    sources, targets = tokenizer(SOURCES)["input_ids"], tokenizer(text_target=TARGETS)["input_ids"]
    before = model.config._attn_implementation
    found = GenerateEngine(model, tokenizer).attention(sources, targets)
    assert model.config._attn_implementation == before
    export_ctranslate2(model, tokenizer, tmp_path)
    exported, _ = load_engine(str(tmp_path))
    model.set_attn_implementation("eager")
    for ids, labels, own, theirs in zip(sources, targets, found, exported.attention(sources, targets), strict=True):
        read = torch.tensor([[model.config.decoder_start_token_id, *labels[:-1]]])
        layers = model(torch.tensor([ids]), decoder_input_ids=read, output_attentions=True).cross_attentions
        expected = layers[-1][0].mean(0) if trained is None else layers[trained][0, 0]  # [T, S]
        assert own == pytest.approx(expected.detach().numpy(), abs=1e-5)
        assert theirs == pytest.approx(expected.detach().numpy(), abs=1e-3)


def test_strong_links():
    weights = numpy.array([[0.5, 0.2, 0, 0.29], [0.3, 0.2, 0, 0.36], [0.2, 0.6, 0, 0.35]])
    assert strong_links(weights) == [(0, 0), (1, 0), (1, 3), (2, 1), (2, 3)]
    assert strong_links(numpy.zeros((0, 3))) == [] == strong_links(numpy.zeros((3, 0)))


def diagonal(pairs):
    """Links word n with word n."""
    return [numpy.eye(len(each.source_words), len(each.target_words)) for each in pairs]


def test_parts_of_a_line_are_aligned_for_themselves():
    """Word n of a sentence is linked with word n of its translation, whatever stands before."""
    source, target = " - Yes. The dog sleeps.", "- Ja, ja. Der Hund schläft."
    parts = (("-", "-"), ("Yes.", "Ja, ja."), ("The dog sleeps.", "Der Hund schläft."))
    rows = [
        (source, Translation(target, parts=parts)), ("lost", Translation("lost", failed=True)),
        ("", Translation("", parts=(("", ""),))),
    ]  # fmt: skip
    # Yes . with Ja , ... and the period with the comma, which does not count.
    assert link_rows(rows, diagonal) == [[(0, 0), (1, 1), (2, 3), (3, 4), (4, 5)], [], []]


def test_a_translator_keeps_the_parts(tiny_run):
    translator = Translator(*_loaded(tiny_run), Search(1))
    text = "- Le chat dort. Il  mange!  Go to https://a.b/c, 😀 THE WHOLE LINE IS LOUD."
    ((found,),) = translator.translate([text])
    position = 0
    for source, target in found.parts:
        position = text.index(source, position) + len(source)
        assert target in found.text
    assert "".join(target for _, target in found.parts) == "".join(found.text.split(" ")) or found.text.replace(
        " ", ""
    ) == "".join(target for _, target in found.parts).replace(" ", "")


def _loaded(run):
    from glossa.translate.loading import load_model, load_tokenizer

    return load_model(str(run)), load_tokenizer(str(run))


@pytest.mark.parametrize("options", [[], ["--scores"], ["--num_beams", "2", "--num_return_sequences", "2"]])
@pytest.mark.slow
def test_the_command_prints_links(tiny_run, tmp_path, options, capsys):
    (tmp_path / "in.txt").write_text("The cat sleeps. It eats.\n\nA dog.\n")
    common = [str(tiny_run), "--input", str(tmp_path / "in.txt"), "--engine", "torch", *options]
    main([*common, "--output", str(tmp_path / "plain.txt")])
    main([*common, "--output", str(tmp_path / "linked.txt"), "--alignments"])
    main([*common, "--output", str(tmp_path / "shards.txt"), "--alignments", "--workers", "1"])
    plain, linked = ((tmp_path / name).read_text().splitlines() for name in ("plain.txt", "linked.txt"))
    assert (tmp_path / "shards.txt").read_text().splitlines() == linked
    assert [line.rpartition("\t")[0] for line in linked] == plain
    sources = ["The cat sleeps. It eats.", "", "A dog."]
    each = 2 if "--num_return_sequences" in options else 1
    for number, line in enumerate(linked):
        text, links = line.split("\t")[-2:]
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert pairs == sorted(set(pairs))
        source = sources[number // each]
        assert all(a < len(source.split()) and b < len(text.split()) for a, b in pairs)
        assert bool(pairs) == bool(text.strip())


def test_documents_have_no_links_to_print(tmp_path):
    (tmp_path / "a.md").write_text("# One\n")
    with pytest.raises(GlossaError, match="--alignments is for lines of text"):
        main(["some/model", "--input", str(tmp_path / "a.md"), "--output", str(tmp_path / "b.md"), "--alignments"])


def test_typed_lines_have_links(tiny_run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A dog.\n")))
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **_: None, raising=False)
    main([str(tiny_run), "--engine", "torch", "--alignments"])
    assert capsys.readouterr().out.count("\t") == 1
