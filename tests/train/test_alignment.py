"""Runs with a head that aligns words."""

import json
import sys

import pytest
import torch
from small_models import QUIET

from glossa.base.errors import GlossaError
from glossa.train.data.pairs import prepare_pairs
from glossa.train.plan.arguments import parse_settings
from glossa.translate.loading import load_model, load_tokenizer

pytestmark = pytest.mark.slow  # minutes in all

ALIGNED = QUIET | {"alignment_head": "true", "decoder_layers": 2}


def test_a_run_of_a_version_without_the_setting_continues(tmp_path, tiny_train):
    changes = ALIGNED | {"alignment_head": "false"}
    run = tiny_train(tmp_path / "run", max_steps=5, **changes)
    lines = (run / "recipe.yaml").read_text().splitlines(keepends=True)
    assert "alignment_head: false\n" in lines
    (run / "recipe.yaml").write_text("".join(line for line in lines if "alignment_head" not in line))
    tiny_train(run, max_steps=7, resume_from_checkpoint="true", **changes)
    assert json.loads((run / "metrics.json").read_text())["steps"] == 7
    with pytest.raises(GlossaError, match="alignment_head was False and is True"):
        tiny_train(run, max_steps=9, resume_from_checkpoint="true", **ALIGNED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "masked_lm"}, "objective is masked_lm, which has no pairs to align"),
        ({"streaming": "true"}, "streaming is true, and words are aligned in all pairs at once"),
    ],
)
def test_what_cannot_be_aligned_is_refused(tmp_path, tiny_train, changes, message):
    with pytest.raises(GlossaError, match=f"alignment_head is true, but {message}"):
        tiny_train(tmp_path / "run", **ALIGNED | changes)


def test_a_missing_library_is_named_before_the_data_is_read(tmp_path, tiny_train, monkeypatch):
    for module in ("thot", "thot.alignment"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("glossa.train.inputs.prepare_pairs", lambda *_: pytest.fail("too late"))
    with pytest.raises(GlossaError, match=r"sil-thot.*missing"):
        tiny_train(tmp_path / "run", **ALIGNED)


def test_the_head_learns_the_links(tmp_path, tiny_settings, tiny_train):
    """After training, what the head attends to where a token is predicted is linked to it, mostly."""
    settings = ALIGNED | {"max_steps": 150, "learning_rate": 1e-2, "save_strategy": "no", "save_steps": 500}
    found = {}
    for guided in ("true", "false"):
        run = tiny_train(tmp_path / guided, **settings | {"alignment_head": guided})
        model = load_model(str(run))
        assert model.config.alignment_layer == (0 if guided == "true" else None)
        model.config.alignment_layer = 0
        found[guided] = _share_on_links(model, load_tokenizer(str(run)), tiny_settings(tmp_path / "x"))
    assert found["true"] > 1.3 * found["false"], found


def _share_on_links(model, tokenizer, settings):
    """The share of the first head's attention that is on linked source tokens, over the linked labels of some rows."""
    from transformers import DataCollatorForSeq2Seq

    from glossa.train.data.encoding.encoding import tokenize_pairs
    from glossa.train.data.encoding.links import LinkCollator

    arguments = parse_settings(settings).data
    pairs, report = prepare_pairs(arguments)
    rows = tokenize_pairs(pairs, tokenizer, arguments, report, linked=True)["train"].select(range(50))
    rows = rows.select_columns(["input_ids", "labels", "links"])
    batch = LinkCollator(DataCollatorForSeq2Seq(tokenizer, model))(list(rows))
    wanted = batch.pop("alignments")
    model.set_attn_implementation("eager")
    with torch.no_grad():
        weights = model(**batch, output_attentions=True).cross_attentions[0][:, 0]
    linked = wanted.sum(-1) > 0
    return ((weights * (wanted > 0)).sum(-1)[linked]).mean().item()
