"""Every recipe: the parameter count of its architecture, and a few training steps on generated text."""

import json
from pathlib import Path

import pytest
import yaml
from small_models import weights

from glossa import GlossaForConditionalGeneration
from glossa.train.data.mixture import target_languages
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

CONFIGURATION = Path(__file__).parents[2] / "configuration"


def transformer(embeddings, layers, attention, feed_forward, norm, final_norms):
    """Parameters of a Transformer; a decoder layer has one attention block and one norm more than an encoder layer."""
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return embeddings + layers * (encoder + decoder) + 2 * norm * final_norms


def plain(d, inner):
    """Parameters of a feed-forward block with two matrices and biases."""
    return d * inner + inner + inner * d + d


PAPER = {"layers": 6, "attention": 4 * 512 * 512, "feed_forward": plain(512, 2048), "norm": 2 * 512}
PARAMETERS = {
    # Queries and outputs d x d, keys and values d x d/2; three matrices in the feed-forward; a norm is one gain.
    "quickstart": transformer(1200 * 128, 2, 3 * 128 * 128, 3 * 128 * 256, 128, True),
    "anki-en-fr": transformer(8000 * 256, 4, 3 * 256 * 256, 3 * 256 * 704, 256, True),
    # The same with a bias on each of the seven matrices, and three embedding matrices.
    "anki-en-fr-modern": transformer(
        3 * 8000 * 128, 4, 3 * 128 * 128 + 128 + 64 + 64 + 128, 3 * 128 * 512 + 512 + 512 + 128, 128, True
    ),
    "anki-fr-en-words": transformer(3 * 10000 * 256, 4, 4 * 256 * 256 + 3 * 256, plain(256, 1024), 2 * 256, False),
    "books-en-it-base": transformer(3 * 30000 * 512, 6, 4 * 512 * 512 + 4 * 512, plain(512, 2048), 2 * 512, True),
    "multi30k-en-de": transformer(8000 * 128, 4, 4 * 128 * 128, 3 * 128 * 256, 128, True),
    "multi30k-en-de-fr-many": transformer(8000 * 128, 4, 4 * 128 * 128, 3 * 128 * 256, 128, True),
    # 2.6 million, as the paper says.
    "multi30k-en-de-tiny": transformer(10000 * 128, 4, 4 * 128 * 128 + 4 * 128, plain(128, 256), 2 * 128, False),
    # Three embedding matrices and two tables of 264 positions; of the attention biases only that of the output.
    "wmt14-de-en": transformer((3 * 100000 + 2 * 264) * 512, 6, 4 * 512 * 512 + 512, plain(512, 2048), 2 * 512, False),
    "wmt14-en-de-base": transformer(37000 * 512, **PAPER, final_norms=False),
    "wmt14-en-fr-base": transformer(32000 * 512, **PAPER, final_norms=False),
}


ADAPTERS = {"quickstart-adapter"}  # these have the size of the model that they start from


def test_every_recipe_has_a_parameter_count():
    assert {path.stem for path in CONFIGURATION.glob("*.yaml")} == set(PARAMETERS) | ADAPTERS


@pytest.mark.parametrize("recipe", PARAMETERS)
def test_parameter_count(recipe):
    settings = parse_settings([str(CONFIGURATION / f"{recipe}.yaml")])
    sizes = {"vocab_size": settings.tokenizer.vocab_size, "decoder_vocab_size": settings.tokenizer.target_vocab_size}
    assert GlossaForConditionalGeneration(settings.config(**sizes)).num_parameters() == PARAMETERS[recipe]


def test_parameter_count_of_the_base_model_of_the_paper():
    assert PARAMETERS["wmt14-en-de-base"] == 63_045_632  # the paper rounds to 65 million


@pytest.mark.slow
@pytest.mark.parametrize("recipe", PARAMETERS)
def test_every_recipe_trains(recipe, tmp_path):
    """All settings of the recipe except data, vocabulary size, batch size and number of steps."""
    settings = parse_settings([str(CONFIGURATION / f"{recipe}.yaml")])
    pair = (settings.data.source_language, settings.data.target_language)
    path = tmp_path / "pairs.jsonl"
    words = [first + second for first in "bdfglmnprst" for second in ("a", "e", "i", "o", "ou")]
    rows = [
        (f"{a} {b} {c}.", f"{c} {b} {a}!") for a, b, c in zip(words * 6, words[1:] * 6, words[7:] * 6, strict=False)
    ]
    path.write_text("".join(json.dumps(dict(zip(pair, row, strict=True))) + "\n" for row in rows))
    data = ["--dataset", "files", "--data_path", str(path)]
    if settings.data.sources:
        path.write_text("".join(json.dumps({"en": a, "de": b, "fr": b}) + "\n" for a, b in rows))
        own = ("name", "source_language", "target_language")
        entries = [{key: entry[key] for key in own if key in entry} for entry in settings.data.sources]
        data = ["--sources", json.dumps([entry | {"data_path": str(path)} for entry in entries])]
    languages = target_languages(settings.data)
    small = "--vocab_size 270 "
    if settings.tokenizer.target_vocab_size is not None:
        small += "--target_vocab_size 265 "
    small += "--encoder_layers 1 --decoder_layers 1 --batch_tokens 60 --max_steps 3 --eval_steps 2"
    small += " --save_steps 2 --validation_size 8 --test_size 8 --bf16 false --report_to none --disable_tqdm true"
    small += f" --max_new_tokens 3 --output_dir {tmp_path / 'run'} --save_only_model true"
    run = train(parse_settings([str(CONFIGURATION / f"{recipe}.yaml"), *data, *small.split()]))
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["steps"] == 3
    beams = settings.translator.num_beams
    decodings = ["greedy", *([f"beam {beams}"] if beams > 1 else [])]
    kinds = ["", ", normalized references"] if settings.tokenizer.normalization else [""]
    names = [f"{code}, {name}" for code in languages for name in decodings] if languages else decodings
    assert sorted(metrics["test"]) == sorted(name + kind for name in names for kind in kinds)
    losses = [entry["eval_loss"] for entry in json.loads((run / "history.json").read_text()) if "eval_loss" in entry]
    assert losses and all(loss < 12 for loss in losses)  # a guess has 5.6


@pytest.mark.slow
def test_the_adapter_recipe_adapts_a_finished_run(tmp_path, tiny_run, tiny_pairs):
    small = "--validation_size 8 --test_size 8 --max_steps 5 --eval_strategy no --load_best_model_at_end false"
    small += (
        f" --report_to none --disable_tqdm true --max_new_tokens 8 --output_dir {tmp_path / 'run'} --batch_tokens 60"
    )
    data = ["--init_from", str(tiny_run), "--data_path", str(tiny_pairs)]
    run = train(parse_settings(["quickstart-adapter", *data, *small.split()]))
    before, after = (weights(folder) for folder in (tiny_run, run))
    changed = {name for name in before if not before[name].equal(after[name])}
    assert changed == {name for name in before if ".layers." in name and before[name].ndim == 2}
    assert (run / "adapter" / "adapter_config.json").is_file()
    assert list(json.loads((run / "metrics.json").read_text())["test"]) == ["greedy", "beam 4"]
    recipe = yaml.safe_load((CONFIGURATION / "quickstart-adapter.yaml").read_text())
    quickstart = yaml.safe_load((CONFIGURATION / "quickstart.yaml").read_text())
    for name in ("source_language", "target_language"):
        assert recipe[name] == quickstart[name]
    assert recipe["init_from"] == quickstart["output_dir"]
