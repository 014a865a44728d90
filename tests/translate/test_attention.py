"""Attention maps, word alignment and plots."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from glossa.translate.attention import AttentionMaps, align_words, attention_maps
from glossa.translate.loading import load_model, load_tokenizer

PLOT = str(Path(__file__).parents[2] / "scripts" / "plot.py")


@pytest.fixture(scope="module")
def translator(tiny_run):
    return load_model(tiny_run), load_tokenizer(tiny_run)


def test_maps_are_the_attention_weights_of_the_model(translator):
    model, tokenizer = translator
    maps = attention_maps(model, tokenizer, "a k.", "k a!")
    inputs = tokenizer(["a k."], text_target=["k a!"], return_tensors="pt")
    source, target = inputs["input_ids"].shape[1], inputs["labels"].shape[1]
    assert maps.cross.shape == (1, 4, target, source)
    assert maps.encoder.shape == (1, 4, source, source)
    for part in (maps.encoder, maps.decoder, maps.cross):
        torch.testing.assert_close(part.sum(-1), torch.ones(part.shape[:-1]))
    assert maps.decoder.triu(1).abs().max() == 0, "no token attends to later ones"

    # Cross-attention by hand, from the projections and the inputs of the only layer.
    states = {}
    layer = model.model.decoder.layers[0].encoder_attn
    hook = layer.register_forward_pre_hook(
        lambda module, args, given: states.update(source=given["encoder_hidden_states"], target=args[0]),
        with_kwargs=True,
    )
    with torch.no_grad():
        model(**inputs)
        hook.remove()
        query = layer.q_proj(states["target"]).view(target, 4, 4)
        key = layer.k_proj(states["source"]).view(source, 2, 4)
        for head in range(4):
            by_hand = (query[:, head] @ key[:, head // 2].T / 2).softmax(-1)
            torch.testing.assert_close(maps.cross[0, head], by_hand)
    assert model.config._attn_implementation == "sdpa", "the model is left as it was"


def test_tokens_and_their_words(translator):
    maps = attention_maps(*translator, "a k.", "k  a!")
    # A space that no merge has joined to its word is a token of its own, "Ġ", and belongs to the word after it.
    assert "".join(maps.source[:-1]).replace("Ġ", "") == "ak." and maps.source[-1] == "</s>"
    assert maps.target_inputs[0] == "<s>" and maps.target_inputs[1:] == maps.target[:-1]
    first, *others, last = maps.source_words
    assert first == 0 and set(others) == {1} and last is None


def test_the_target_defaults_to_the_translation(translator):
    model, tokenizer = translator
    maps = attention_maps(model, tokenizer, "a k.")
    assert maps.cross.shape[2] == len(maps.target) == len(maps.target_inputs)


def test_alignment_by_hand():
    # Two layers, of which the first is used. Target word 0 and source word 1 have two tokens each.
    first = torch.tensor(
        [
            [[0.5, 0.2, 0.2, 0.1], [0.5, 0.2, 0.2, 0.1], [0.9, 0.05, 0.05, 0.0], [0.0, 0.0, 0.0, 1.0]],
            [[0.3, 0.4, 0.3, 0.0], [0.3, 0.4, 0.3, 0.0], [0.9, 0.05, 0.05, 0.0], [0.0, 0.0, 0.0, 1.0]],
        ]
    )
    # Word 0: source word 0 has (0.5 + 0.3) / 2 = 0.4, source word 1 (0.4 + 0.7) / 2 = 0.55. Word 1: 0.9 against 0.1.
    maps = AttentionMaps(
        source=["a", "b", "c", "</s>"], target=["x", "y", "z", "</s>"], target_inputs=["<s>", "x", "y", "z"],
        source_words=[0, 1, 1, None], target_words=[0, 0, 1, None], encoder=torch.empty(0), decoder=torch.empty(0),
        cross=torch.stack([first, first.flip(-1)]),
    )  # fmt: skip
    assert align_words(maps) == "1-0 0-1"
    assert align_words(replace(maps, cross=maps.cross[1:])) == "1-0 1-1"  # a model of one layer


def test_the_script(tmp_path, tiny_run, monkeypatch, capsys, drawing):
    monkeypatch.setattr("glossa.base.plots.draw_curves", drawing)

    def plot(*arguments):
        monkeypatch.setattr(sys, "argv", [PLOT, *map(str, arguments)])
        try:
            runpy.run_path(PLOT, run_name="__main__")
        except SystemExit as end:
            return end.code

    sentence = ["--source", "a k.", "--target", "k a!", "--output", tmp_path / "a.png"]
    assert plot("attention", tiny_run, *sentence, "--part", "decoder", "--head", 3) is None
    assert [pair.split("-")[1] for pair in capsys.readouterr().out.split()] == ["0", "1"]
    assert "--layer is 5" in plot("attention", tiny_run, *sentence, "--layer", 5)
    assert "it has no training log" in plot("curves", tmp_path)
    assert "Format 'xyz'" in plot("curves", tiny_run, "--output", tmp_path / "c.xyz")
