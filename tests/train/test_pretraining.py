"""Pretraining runs: trained weights, loss, saved files, and translators that start from them."""

import json
import math
from contextlib import ExitStack

import pytest
import torch
from small_models import weights
from transformers import AutoTokenizer
from workers import together

from glossa import GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.train import judging
from glossa.train.data.encoding.corruption import PretrainingCollator
from glossa.train.hub.card import build_card
from glossa.train.plan.arguments import parse_settings
from glossa.train.pretraining import train_part
from glossa.train.run import train

OBJECTIVES = ("span_corruption", "masked_lm", "causal_lm")
CROSS_ATTENTION = ".encoder_attn"


@pytest.fixture(scope="module")
def settings_of(tiny_settings):
    def settings(output_dir, objective, **changes):
        return tiny_settings(output_dir, vocab_size=284, objective=objective, **changes)

    return settings


@pytest.fixture(scope="module", params=OBJECTIVES)
def pretrained(request, tmp_path_factory, settings_of):
    """The objective and the folder of a short finished run, whose recipe has settings only translators support."""
    folder = tmp_path_factory.mktemp("runs") / request.param
    changes = {"metric_for_best_model": "bleu", "predict_with_generate": True, "average_checkpoints": 2}
    return request.param, train(parse_settings(settings_of(folder, request.param, **changes)))


def test_run_saves_model_vocabulary_and_losses(pretrained):
    objective, run = pretrained
    metrics, history = (json.loads((run / f"{name}.json").read_text()) for name in ("metrics", "history"))
    losses = [entry["loss"] for entry in history if "loss" in entry]
    assert losses[-1] < losses[0]
    assert not any("eval_bleu" in entry for entry in history)
    assert metrics["validation"].keys() == {"loss", "token_accuracy"} and "test" not in metrics
    assert metrics["padding"] < 0.5
    kept = {path.name for path in run.iterdir()}
    assert {"model.safetensors", "curves.png", "recipe.yaml", "tokenizer.json", "modeling_glossa.py"} <= kept
    assert "samples.md" not in kept and not (run / "held_out" / "test.jsonl").exists()
    assert json.loads((run / "config.json").read_text())["architectures"] == ["GlossaForConditionalGeneration"]
    recipe = (run / "recipe.yaml").read_text()
    assert f"objective: {objective}" in recipe and "metric_for_best_model: loss" in recipe
    vocabulary = AutoTokenizer.from_pretrained(run).get_vocab()
    special = {"span_corruption": "<extra_id_5>", "masked_lm": "<mask>", "causal_lm": "</s>"}[objective]
    assert special in vocabulary and ("<mask>" in vocabulary) == (objective == "masked_lm")


def test_pretrained_model_has_no_card(pretrained):
    objective, run = pretrained
    with pytest.raises(GlossaError, match=f"objective {objective}: it does not translate yet"):
        build_card(run, "someone/name")


def test_best_checkpoint_has_the_lowest_loss(pretrained):
    _, run = pretrained
    last = max(run.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    state = json.loads((last / "trainer_state.json").read_text())
    losses = [entry["eval_loss"] for entry in state["log_history"] if "eval_loss" in entry]
    assert state["best_metric"] == min(losses)


def test_validation_loss_is_the_mean_over_tokens(tmp_path, settings_of):
    """Recomputed text by text for `masked_lm` from the files of the run."""
    run = train(parse_settings(settings_of(tmp_path / "run", "masked_lm", num_train_epochs=1)))
    model = GlossaForConditionalGeneration.from_pretrained(run).eval()
    tokenizer = AutoTokenizer.from_pretrained(run)
    texts = [json.loads(line)["text"] for line in (run / "held_out" / "validation.jsonl").read_text().splitlines()]
    collator = PretrainingCollator("masked_lm", tokenizer, 128, seed=1)
    total = tokens = 0
    for text in texts:
        row = collator.corrupt(tokenizer(text, add_special_tokens=False)["input_ids"])
        with torch.no_grad():
            states = model.model.encoder(torch.tensor([row["input_ids"]])).last_hidden_state
            log_probabilities = model.lm_head(states)[0].log_softmax(-1)
        for position, label in enumerate(row["labels"]):
            if label != -100:
                total -= log_probabilities[position, label].item()
                tokens += 1
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["validation"]["loss"] == pytest.approx(total / tokens, abs=1e-4)


def test_only_the_weights_of_the_objective_change(pretrained):
    objective, run = pretrained
    first, *_, last = sorted(run.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    before, after = weights(first), weights(last)
    moved = {name for name, weight in before.items() if not weight.equal(after[name])}
    shared = {"model.decoder.embed_tokens.weight"} & before.keys() or {"model.encoder.embed_tokens.weight"}
    parts = {
        "span_corruption": before.keys(),
        "masked_lm": {name for name in before if name.startswith("model.encoder.")} | shared,
        "causal_lm": {n for n in before if n.startswith("model.decoder.") and CROSS_ATTENTION not in n} | shared,
    }
    assert moved == set(parts[objective])


@pytest.mark.slow
def test_corruption_differs_in_every_epoch(tmp_path, settings_of, monkeypatch):
    epochs = []
    monkeypatch.setattr(PretrainingCollator, "set_epoch", lambda collator, epoch: epochs.append(epoch))
    train(parse_settings(settings_of(tmp_path / "run", "masked_lm", num_train_epochs=3)))
    assert epochs == [0, 1, 2]


@pytest.mark.slow
def test_translator_starts_from_a_pretrained_model(tmp_path, pretrained, tiny_train, monkeypatch):
    """Trained with bf16; the model is scored without autocast."""
    _, start = pretrained
    scored, score = [], judging._score_split
    monkeypatch.setattr(judging, "_score_split", lambda *args: scored.append(vars(args[2]).copy()) or score(*args))
    run = tiny_train(tmp_path / "run", init_from=start, max_steps=6, bf16=True)
    assert (run / "tokenizer.json").read_text() == (start / "tokenizer.json").read_text()
    begun, trained = weights(start), weights(run)
    assert all(not weight.equal(trained[name]) for name, weight in begun.items()), "no weight is still frozen"
    assert set(json.loads((run / "metrics.json").read_text())["test"]) == {"greedy"}
    assert scored and not any("forward" in attributes for attributes in scored)


@pytest.mark.slow
def test_pretraining_starts_from_a_pretrained_model(tmp_path, pretrained, settings_of):
    objective, start = pretrained
    run = train(parse_settings(settings_of(tmp_path / "run", "causal_lm", init_from=start, max_steps=3)))
    assert (run / "tokenizer.json").read_text() == (start / "tokenizer.json").read_text()
    if objective != "masked_lm":
        with pytest.raises(GlossaError, match="takes the special token <mask>"):
            train(parse_settings(settings_of(tmp_path / "other", "masked_lm", init_from=start)))


@pytest.fixture
def part():
    """Enters `train_part` until the end of the test."""
    with ExitStack() as stack:
        yield lambda model, objective: stack.enter_context(train_part(model, objective))


@pytest.mark.parametrize("objective", ["translation", "masked_lm", "causal_lm"])
def test_model_translates_after_pretraining(tiny_model, objective):
    model = tiny_model()
    tokens = torch.arange(4, 50).reshape(2, 23)
    expected = model(input_ids=tokens, labels=tokens).logits
    with train_part(model, objective):
        assert ("forward" in vars(model)) == (objective != "translation")
    torch.testing.assert_close(model(input_ids=tokens, labels=tokens).logits, expected)
    assert all(weight.requires_grad for weight in model.parameters())


def test_masked_labels_are_predicted_from_the_encoder_alone(tiny_model, part):
    model = tiny_model()
    tokens, mask = torch.tensor([[5, 6, 7, 1], [8, 9, 1, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    labels = torch.tensor([[-100, 9, -100, -100], [4, -100, -100, -100]])
    states = model.model.encoder(tokens, attention_mask=mask).last_hidden_state
    logits = states @ model.model.encoder.embed_tokens.weight.T
    expected = -(logits[0, 1].log_softmax(-1)[9] + logits[1, 0].log_softmax(-1)[4])
    part(model, "masked_lm")
    output = model(input_ids=tokens, attention_mask=mask, labels=labels)
    torch.testing.assert_close(output.logits, logits)
    assert output.loss.item() == pytest.approx(expected.item() / 2)
    output = model(input_ids=tokens, attention_mask=mask, labels=labels, num_items_in_batch=4)
    assert output.loss.item() == pytest.approx(expected.item() / 4)


def test_causal_lm_uses_only_the_decoder(tiny_model, part):
    """Logits depend only on the previous tokens, not on the source or the cross-attention weights."""
    model = tiny_model()
    part(model, "causal_lm")
    labels = torch.tensor([[5, 6, 7, 1], [8, 9, 1, -100]])
    logits = model(input_ids=labels, labels=labels).logits
    decoded = model.model.decoder(torch.tensor([[2, 5, 6, 7]])).last_hidden_state
    torch.testing.assert_close(logits[:1], decoded @ model.lm_head.weight.T)
    changed = labels.clone()
    changed[0, 2] = 30
    after = model(input_ids=labels + 100, labels=changed).logits
    torch.testing.assert_close(after[0, :3], logits[0, :3])
    assert not torch.allclose(after[0, 3], logits[0, 3])
    with torch.no_grad():
        for layer in model.model.decoder.layers:
            for weight in layer.encoder_attn.parameters():
                weight.mul_(7)
    torch.testing.assert_close(model(labels=labels).logits, logits)
    log_probabilities = logits.log_softmax(-1)
    expected = -sum(log_probabilities[row, i, labels[row, i]] for row, end in ((0, 4), (1, 3)) for i in range(end))
    assert model(labels=labels).loss.item() == pytest.approx(expected.item() / 7)


@pytest.mark.parametrize("objective", ["masked_lm", "causal_lm"])
def test_only_trained_weights_get_a_gradient(tiny_model, architecture, objective, part):
    model = tiny_model(**{name: value for name, value in architecture.items() if name != "decoder_vocab_size"})
    part(model, objective)
    tokens = torch.arange(4, 50).reshape(2, 23)
    model(input_ids=tokens, labels=tokens).loss.backward()
    for name, weight in model.named_parameters():
        assert (weight.grad is not None) == weight.requires_grad, name


@pytest.mark.parametrize("objective", ["masked_lm", "causal_lm"])
def test_the_loss_balances_the_experts_of_the_trained_side_in_training_only(tiny_model, objective, part):
    tokens, found = torch.arange(4, 50).reshape(2, 23), []
    for factor in (0.0, 0.5):
        model = tiny_model(num_local_experts=4, router_aux_loss_coef=factor)
        part(model, objective)
        evaluated = model(input_ids=tokens, labels=tokens).loss
        found.append((evaluated, model.train()(input_ids=tokens, labels=tokens).loss))
    assert found[0][0] == found[1][0]
    # About two choices per token in each of two layers, times the factor.
    assert (found[1][1] - found[0][1]).item() == pytest.approx(0.5 * 2 * 2, rel=0.3)


def test_settings_that_contradict_the_objective_are_refused(tmp_path, tiny_settings):
    with pytest.raises(
        GlossaError, match="source_column and target_column are both 'body', but the objective is translation"
    ):
        parse_settings(tiny_settings(tmp_path, source_column="body", target_column="body"))
    with pytest.raises(GlossaError, match=r"push_to_hub is true, but objective is causal_lm"):
        parse_settings(tiny_settings(tmp_path, objective="causal_lm", push_to_hub=True))
    with pytest.raises(GlossaError, match="target_vocab_size is 300, but objective is masked_lm"):
        parse_settings(
            tiny_settings(
                tmp_path, objective="masked_lm", target_vocab_size=300, share_encoder_decoder_embeddings=False
            )
        )
    with pytest.raises(GlossaError, match="objective"):
        parse_settings(tiny_settings(tmp_path, objective="denoising"))
    settings = parse_settings(tiny_settings(tmp_path, objective="causal_lm", metric_for_best_model="token_accuracy"))
    assert settings.training.metric_for_best_model == "token_accuracy" and settings.training.greater_is_better


@pytest.mark.slow
def test_two_processes_pretrain_together(tmp_path, settings_of, zygote):
    """Frozen weights do not block the processes, and each process takes every second batch."""
    changes = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
    run = tmp_path / "together"
    together(zygote, {"folder": run, "arguments": settings_of(run, "masked_lm", **changes)})
    alone = train(parse_settings(settings_of(tmp_path / "alone", "masked_lm", **changes)))
    two, one = (json.loads((folder / "metrics.json").read_text()) for folder in (run, alone))
    assert two["steps"] == 2 * math.ceil(one["steps"] // 2 / 2)
    assert two["validation"]["loss"] == pytest.approx(one["validation"]["loss"], abs=1)
