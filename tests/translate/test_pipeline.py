"""The translation pipeline: inputs, outputs, errors, and that it is saved with the model."""

import copy
import json
import logging
import os
import subprocess
import time
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from small_models import varied
from transformers import AutoModelForSeq2SeqLM, GenerationConfig, StoppingCriteria, TextIteratorStreamer
from transformers.pipelines.pt_utils import KeyDataset

import glossa
from glossa import TranslationPipeline
from glossa.model.pipeline_glossa import max_target_length
from glossa.model.sentences_glossa import split_text
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

TEXTS = ["Where is the cat?", "a b.", "", "The cat sleeps on the mat, and the dog does not.", "  \n", "Yes.", "a b."]


@pytest.fixture(scope="module")
def parts():
    model, tokenizer = varied(TEXTS)
    model.generation_config.update(num_beams=2)
    return model, tokenizer


@pytest.fixture(scope="module")
def translate(parts):
    return TranslationPipeline(*parts)


@pytest.fixture(scope="module")
def alone(parts):
    """The output of `generate` for each text on its own, without the pipeline."""
    model, tokenizer = parts

    def one(text):
        ids = tokenizer(text, return_tensors="pt")
        limit = 2 * ids["input_ids"].shape[1] + 50
        return tokenizer.decode(model.generate(**ids, max_new_tokens=limit)[0], skip_special_tokens=True)

    return [one(text) if text.strip() else "" for text in TEXTS]


def test_string_gives_a_list_and_list_gives_a_dictionary_per_text(translate, alone):
    assert translate(TEXTS[0]) == [{"translation_text": alone[0]}]
    assert translate(TEXTS) == [{"translation_text": text} for text in alone]
    assert len(set(alone)) >= 4  # the texts differ, so a wrong order would be detected
    assert translate([]) == []


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_batches_change_neither_order_nor_translations(translate, alone, batch_size):
    assert [found["translation_text"] for found in translate(TEXTS, batch_size=batch_size)] == alone


def test_generators_and_datasets_are_read_lazily(translate, alone):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield TEXTS[len(taken) % 2]

    stream = translate(endless(), batch_size=1)
    assert not taken
    assert next(stream) == {"translation_text": alone[1]}
    assert next(stream) == {"translation_text": alone[0]}
    assert len(taken) == 32  # one window of batches

    wanted = [{"translation_text": text} for text in alone]
    rows = Dataset.from_dict({"source": TEXTS, "target": TEXTS[::-1]})
    assert list(translate(rows)) == wanted
    assert list(translate(rows, key="target")) == wanted[::-1]
    assert list(translate(rows["source"])) == wanted
    assert list(translate(KeyDataset(rows, "source"))) == wanted
    with pytest.raises(ValueError, match=r"columns \['a', 'b'\]"):
        list(translate(Dataset.from_dict({"a": ["x"], "b": ["y"]})))


def test_n_best_and_scores_match_the_translator(parts, translate):
    there = Translator(*parts, Search(4, 3, scores=True)).translate(TEXTS)
    here = translate(TEXTS, num_beams=4, num_return_sequences=3, return_scores=True)
    for found, wanted in zip(here, there, strict=True):
        assert [one["translation_text"] for one in found] == [one.text for one in wanted]
        assert [one["score"] for one in found] == pytest.approx([one.score for one in wanted], abs=1e-4)
    assert here[2] == [{"translation_text": "", "score": 0.0}] * 3


@pytest.mark.parametrize("settings", [{}, {"repetition_penalty": 1.2}], ids=str)
@pytest.mark.parametrize("beams", [1, 3])
def test_scores_are_log_probabilities_of_the_model_whatever_changes_the_search(parts, translate, beams, settings):
    model, tokenizer = parts
    options = {"num_beams": beams, "max_new_tokens": 9} | settings
    (found,) = translate(TEXTS[0], return_scores=True, **options)
    ids = tokenizer(TEXTS[0], return_tensors="pt")
    output = model.generate(**ids, **options)
    with torch.no_grad():
        log_probs = model(**ids, decoder_input_ids=output[:, :-1]).logits.log_softmax(-1)
    expected = log_probs[0, torch.arange(output.shape[1] - 1), output[0, 1:]].sum().item()
    assert found["score"] == pytest.approx(expected, abs=1e-4)


class AfterTwo(StoppingCriteria):
    def __call__(self, input_ids, scores, **_):
        return torch.full(input_ids.shape[:1], input_ids.shape[1] > 2)


@pytest.mark.parametrize("scores", [False, True])
def test_what_generate_takes_is_taken(parts, translate, scores):
    model, tokenizer = parts
    output = model.generate(**tokenizer(TEXTS[0], return_tensors="pt"), max_new_tokens=2)
    expected = tokenizer.decode(output[0], skip_special_tokens=True)
    outputs = [f"output_{name}" for name in ("scores", "logits", "attentions", "hidden_states")]
    options = dict.fromkeys([*outputs, "return_dict_in_generate"], True) | {
        "stopping_criteria": [AfterTwo()],
        "return_scores": scores,
    }
    (found,) = translate(TEXTS[0], **options)
    assert found["translation_text"] == expected != translate(TEXTS[0])[0]["translation_text"]
    configured = GenerationConfig.from_dict(model.generation_config.to_dict() | {"return_dict_in_generate": True})
    configured.max_new_tokens = 2
    assert translate(TEXTS[0], generation_config=configured)[0]["translation_text"] == expected


def test_call_settings_override_pipeline_settings(parts):
    translate = TranslationPipeline(*parts, num_beams=3, num_return_sequences=3)
    assert len(translate(TEXTS[0])) == 3
    assert len(translate(TEXTS[0], num_return_sequences=1)) == 1


def test_a_translation_has_at_most_twice_the_tokens_of_its_source_and_fifty():
    assert [max_target_length(length) for length in (0, 1, 20)] == [50, 52, 90]
    assert [max_target_length(20, positions) for positions in (89, 90, 91)] == [89, 90, 90]


def test_arguments_of_the_pipelines_of_transformers_4_have_no_effect(translate):
    arguments = {"src_lang": "en", "tgt_lang": "fr", "clean_up_tokenization_spaces": True, "truncation": True}
    assert translate(TEXTS[0], **arguments) == translate(TEXTS[0])


@pytest.mark.parametrize(
    ("inputs", "settings", "message"),
    [
        ("x", {"num_return_sequences": 3}, "num_return_sequences is 3 and num_beams 2"),
        ("word " * 50, {"split_sentences": False}, "the model takes 40. Split it into sentences"),
        (["x", None], {}, "A text is None"), (5, {}, "A int was given"), ({"text": "x"}, {}, "A dict was given"),
    ],
)  # fmt: skip
def test_invalid_inputs_are_refused(translate, inputs, settings, message):
    with pytest.raises(ValueError, match=message):
        translate(inputs, **settings)
    with pytest.raises(ValueError, match="tokenizer is None"):
        TranslationPipeline(translate.model)


@pytest.mark.parametrize(
    "unit",
    [".", " ", "\n", ". ", "Mr. ", '."', ". »", "A. B. ", ". -", "-", ", ", "x", "。", ".)", "!?…", "a.\u3000B"],
)
@pytest.mark.parametrize("end", ["", " " * 10_000, "A"])
def test_splitting_takes_linear_time(unit, end):
    """20,000 characters of any kind; what is quadratic takes minutes."""
    text = unit * (10_000 // len(unit)) + end
    started = time.process_time()
    pieces, between = split_text(text, lambda piece: len(piece) < 300)
    assert time.process_time() - started < 5
    assert "".join("".join(pair) for pair in zip(pieces, between, strict=True)).split() == text.split()


def test_long_text_is_translated_by_sentence_and_joined(translate):
    pieces = translate(["The cat sleeps.", "Where is the cat?", "Yes."], return_scores=True)
    one, two, three = (found["translation_text"] for found in pieces)
    text = "The cat sleeps. Where is the cat?\n\nYes."
    (found,) = translate(text, split_sentences=True, return_scores=True)
    assert found["translation_text"] == f"{one} {two}\n\n{three}"
    assert found["score"] == pytest.approx(sum(piece["score"] for piece in pieces), abs=1e-4)
    (long,) = translate("word " * 200, split_sentences=True, max_new_tokens=5)  # 201 tokens; the model takes 40
    assert long["translation_text"]
    assert translate(" ", split_sentences=True) == [{"translation_text": ""}]


ELSEWHERE = """
import json, sys
sys.modules.update(dict.fromkeys(["glossa", "datasets", "evaluate", "sacrebleu", "accelerate"]))
import torch
from transformers import AutoModelForSeq2SeqLM, pipeline
torch.set_num_threads(1)
folder, again, third, texts = *sys.argv[1:4], json.loads(sys.argv[4])
translate = pipeline("translation", model=folder, trust_remote_code=True)
str(translate.model.config)
translate.save_pretrained(again)
AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True).save_pretrained(third)
print(json.dumps([type(translate).__module__.split(".")[0], translate(texts)]))
"""


@pytest.mark.slow
def test_every_save_method_includes_the_pipeline(parts, alone, early, tmp_path):
    model, tokenizer = parts
    first, again, third = (tmp_path / name for name in ("first", "again", "third"))
    model.save_pretrained(first)
    tokenizer.save_pretrained(first)
    for folder, saved in ((first, again), (again, tmp_path / "unused")):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        environment["HF_HOME"] = str(tmp_path / "home")
        process = subprocess.run(
            [early.path / "python", "-I", "-c", ELSEWHERE, folder, saved, third, json.dumps(TEXTS)],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        module, found = json.loads(process.stdout.splitlines()[-1])
        assert module == "transformers_modules"
        assert found == [{"translation_text": text} for text in alone]
    code = Path(glossa.__file__).with_name("model").joinpath("pipeline_glossa.py").read_text()
    for folder in (first, again, third):
        assert (folder / "pipeline_glossa.py").read_text() == code
        entry = json.loads((folder / "config.json").read_text())["custom_pipelines"]["translation"]
        assert entry == {"impl": "pipeline_glossa.TranslationPipeline", "pt": ["AutoModelForSeq2SeqLM"]}


def test_a_length_that_the_caller_gives_wins_over_that_of_the_run(tiny_run):
    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    ids = tokenizer("a k.", return_tensors="pt")
    for settings, length in (({}, 13), ({"max_length": 5}, 5), ({"max_new_tokens": 20}, 21)):  # the run's is 12
        assert model.generate(**ids, **settings, suppress_tokens=[tokenizer.eos_token_id]).shape[1] == length


def test_a_streamer_takes_the_defaults_of_a_run_but_for_its_beams(tiny_run):
    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    ids = tokenizer("a k.", return_tensors="pt")
    streamer = TextIteratorStreamer(tokenizer, skip_special_tokens=True, timeout=10)
    with pytest.raises(ValueError, match="Make sure that `num_beams` is set to 1"):
        model.generate(**ids, streamer=streamer)
    written = model.generate(**ids, streamer=streamer, num_beams=1, suppress_tokens=[0, 1, 2, 3])
    assert "".join(streamer) == tokenizer.decode(written[0], skip_special_tokens=True) != ""


@pytest.mark.parametrize("default", [{"max_length": 13}, {"max_new_tokens": 12}], ids=str)
def test_a_given_length_replaces_the_default_without_a_warning(parts, translate, default, caplog):
    model, tokenizer = parts
    transformers_logger = logging.getLogger("transformers")
    transformers_logger.addHandler(caplog.handler)  # it does not propagate
    lengths = []
    decode, translate.tokenizer = tokenizer.batch_decode, copy.copy(tokenizer)
    translate.tokenizer.batch_decode = lambda ids, **kwargs: lengths.append(ids.shape[1]) or decode(ids, **kwargs)
    model.generation_config.update(**default)
    try:
        for settings in ({"max_length": 5}, {"max_new_tokens": 20}, {}):
            translate(TEXTS[0], suppress_tokens=[tokenizer.eos_token_id], **settings)
    finally:
        model.generation_config.update(**dict.fromkeys(default))
        translate.tokenizer = tokenizer
        transformers_logger.removeHandler(caplog.handler)
    longest = 2 * len(tokenizer(TEXTS[0])["input_ids"]) + 50
    assert lengths == [5, 21, longest + 1]
    assert not caplog.records


def test_checkpoints_of_a_run_include_the_pipeline(tiny_run):
    for folder in (tiny_run, *tiny_run.glob("checkpoint-*")):
        assert (folder / "pipeline_glossa.py").is_file()
    assert len(list(tiny_run.glob("checkpoint-*"))) > 0
    translate = TranslationPipeline(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)))
    assert AutoModelForSeq2SeqLM.from_pretrained(tiny_run).config.custom_pipelines
    sentences = ["a k.", "b l."]
    assert [found["translation_text"] for found in translate(sentences)] == Translator(
        translate.model, translate.tokenizer
    ).best(sentences)
