"""Behavior of a saved folder in a process with transformers alone: `python tests/bare_checks.py RUN`, a line each.

Needs torch, transformers and a run of one target language; with peft, also the checks of adapters.
"""

import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, StaticCache, pipeline

CHECKS: dict[str, Callable[[str], object]] = {}
TEXTS = ["We find your book.", "Where is the station?"]


def check(function: Callable[[str], object]) -> Callable[[str], object]:
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def load(run: str, **settings):
    return AutoModelForSeq2SeqLM.from_pretrained(run, trust_remote_code=True, **settings).eval()


def batch_of(run: str) -> dict[str, torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained(run, trust_remote_code=True)
    return dict(tokenizer(TEXTS, text_target=TEXTS, padding=True, return_tensors="pt"))


def close(one: torch.Tensor, other: torch.Tensor, tolerance: float = 1e-3) -> None:
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@check
def six_files_are_loaded_for_model_and_tokenizer(run):
    folder = Path(str(sys.modules[type(load(run)).__module__].__file__)).parent
    AutoTokenizer.from_pretrained(run, trust_remote_code=True)
    names = {path.name for path in folder.glob("*_glossa.py")}
    own = ("configuration", "generation", "layers", "loss", "modeling", "steps")
    assert names == {f"{name}_glossa.py" for name in own}, names


@check
def logits_in_training(run):
    model, batch = load(run).train(), batch_of(run)
    outputs = model(**batch)  # case train-logits-none
    assert outputs.logits.shape[:2] == batch["labels"].shape
    without = model(**batch, return_logits=False)
    assert without.logits is None and without.loss.requires_grad


@check
def the_loss_is_plain_unless_smoothing_is_asked_for(run):
    model, batch = load(run), batch_of(run)
    labels = batch["labels"].masked_fill(batch["labels"] == model.config.pad_token_id, -100)
    batch = batch | {"labels": labels}
    outputs = model(**batch)
    rows = outputs.logits.flatten(0, 1), labels.flatten()
    close(outputs.loss, nn.functional.cross_entropy(*rows))
    if model.config.label_smoothing_type == "uniform":
        smoothed = nn.functional.cross_entropy(*rows, label_smoothing=0.1)
        close(model(**batch, smoothing=0.1).loss, smoothed)


@check
def a_replaced_method_of_a_class_is_called(run):
    model, batch = load(run), batch_of(run)
    kind = type(model.model.decoder.layers[0].self_attn)
    forward, calls = kind.forward, []
    kind.forward = lambda self, *args, **kwargs: calls.append(1) or forward(self, *args, **kwargs)
    try:
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        model.generate(**inputs, num_beams=1, max_new_tokens=5, min_new_tokens=5)
    finally:
        kind.forward = forward
    layers = model.config.encoder_layers, model.config.decoder_layers
    assert len(calls) == layers[0] + 5 * 2 * layers[1], len(calls)


@check
def a_saved_copy_keeps_the_pipeline(run):
    with tempfile.TemporaryDirectory() as folder:
        load(run).save_pretrained(folder)
        AutoTokenizer.from_pretrained(run, trust_remote_code=True).save_pretrained(folder)
        found = pipeline("translation", model=folder, trust_remote_code=True)(TEXTS)
    assert found == pipeline("translation", model=run, trust_remote_code=True)(TEXTS)


@check
def dtype_auto_and_bfloat16(run):
    assert load(run, dtype="auto").dtype == torch.float32
    close(load(run, dtype=torch.bfloat16)(**batch_of(run)).logits.float(), load(run)(**batch_of(run)).logits, 0.5)


@check
def one_compiled_graph(run):
    model, batch = load(run), batch_of(run)
    inputs = {"input_ids": batch["input_ids"], "decoder_input_ids": batch["labels"], "use_cache": False}
    with torch.no_grad():
        close(torch.compile(model, fullgraph=True, backend="aot_eager")(**inputs).logits, model(**inputs).logits)


@check
def a_static_cache_finds_the_same(run):
    model, batch = load(run), batch_of(run)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")} | {"num_beams": 1, "max_new_tokens": 8}
    assert StaticCache is not None
    assert model.generate(**inputs, cache_implementation="static").equal(model.generate(**inputs))


@check
def flex_attention_gives_the_same_logits(run):
    with torch.no_grad():  # on CPUs it has no gradients
        ours = load(run, attn_implementation="flex_attention")
        close(ours(**batch_of(run)).logits, load(run)(**batch_of(run)).logits)


@check
def bitsandbytes_loads_eight_and_four_bits(run):
    if find_spec("bitsandbytes") is None:
        return "skipped: bitsandbytes is not installed"
    from transformers import BitsAndBytesConfig

    for bits, tolerance in ((8, 0.3), (4, 2.0)):
        model = load(run, quantization_config=BitsAndBytesConfig(**{f"load_in_{bits}bit": True}))
        with torch.no_grad():
            close(model(**batch_of(run)).logits.float(), load(run)(**batch_of(run)).logits, tolerance)
    return None


@check
def the_base_model_gives_the_states_of_the_decoder(run):
    model, base, batch = load(run), AutoModel.from_pretrained(run, trust_remote_code=True).eval(), batch_of(run)
    inputs = {"input_ids": batch["input_ids"], "decoder_input_ids": batch["labels"]}
    close(model.lm_head(base(**inputs).last_hidden_state), model(**inputs).logits)


@check
def a_merged_adapter_reloads(run):
    if find_spec("peft") is None:
        return "skipped: peft is not installed"
    from peft import LoraConfig, get_peft_model

    settings = {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}
    adapted = get_peft_model(load(run), LoraConfig(task_type="SEQ_2_SEQ_LM", target_modules=["q_proj"], **settings))
    optimizer = torch.optim.SGD([weight for weight in adapted.parameters() if weight.requires_grad], lr=0.1)
    adapted.train()(**batch_of(run)).loss.backward()
    optimizer.step()
    merged = adapted.eval().merge_and_unload()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        merged.save_pretrained(folder)
        close(load(folder)(**batch_of(run)).logits, merged(**batch_of(run)).logits)
    return None


def main(run: str) -> int:
    assert "glossa" not in sys.modules
    failed = 0
    for name, function in CHECKS.items():
        try:
            found = function(run)
            print(f"{name}: {'ok' if found is None else found}", flush=True)
        except Exception as error:  # every check is reported
            failed += 1
            print(f"{name}: FAILED, {type(error).__name__}: {str(error)[:200]}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
