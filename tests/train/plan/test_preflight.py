"""What would end a run after hours is refused before any data is read."""

import json
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from published_models import publish
from small_models import QUIET, command_line
from transformers import BertConfig, MarianConfig, T5Config, WhisperConfig
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

from glossa.base.errors import GlossaError
from glossa.train import inputs as training_inputs
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.preflight import check_before_data
from glossa.train.plan.start import check_family, load_start

WORDS = ["a b c d e f g h i j k l m n o p q r s t u v w x y z"] * 9


@pytest.fixture
def refused(tmp_path, tiny_train, monkeypatch):
    """The message that refuses these settings, before any data is read."""
    monkeypatch.setattr(training_inputs, "prepare_pairs", lambda *_: pytest.fail("data was read"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("glossa.train.hub.push.get_token", lambda: None)

    def message(**changes):
        with pytest.raises(GlossaError) as error:
            tiny_train(tmp_path / "run", **changes)
        assert not (tmp_path / "run").exists()
        return str(error.value)

    return message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric_for_best_model": "blue"}, "metric_for_best_model is 'blue'; it must be one of bleu"),
        ({"predict_with_generate": False}, "Set metric_for_best_model to loss"),
        ({"init_from": "RUN", "lora_rank": 4, "average_checkpoints": 2}, "lora_rank is 4 and average_checkpoints 2"),
        ({"optim": "adamw_8bit"}, "optim is adamw_8bit"),
        ({"init_from": "runs/nothing/at-all"}, "There is no folder runs/nothing/at-all"),
        ({"push_to_hub": True, "hub_model_id": "user/model"}, "No token. Log in"),
        ({"encoder_attention_heads": 3}, "encoder_attention_heads is 3; it must divide d_model (16)"),
        ({"both_directions": True, "objective": "masked_lm"}, "objective is masked_lm, which has one side"),
        ({"both_directions": True, "streaming": True}, "streaming is true, and its rows are read in one direction"),
        ({"both_directions": True, "target_vocab_size": 280, "share_encoder_decoder_embeddings": False}, "one vocab"),
        ({"both_directions": True, "alignment_head": True}, "alignment_head is true, which links words"),
        (
            {
                "both_directions": True,
                "data_path": None,
                "dataset": None,
                "sources": '[{"data_path": "a.tsv", "tag": "<a> "}]',
            },
            "the source a has a tag",
        ),
        (
            {
                "both_directions": True,
                "data_path": None,
                "dataset": None,
                "sources": '[{"data_path": "a.tsv"}, {"data_path": "b.tsv", "target_language": "es"}]',
            },
            "fr, es",
        ),
        # Settings that would be ignored, or spoil each other.
        ({"generation_num_beams": 5}, "generation_num_beams"),
        ({"per_device_train_batch_size": 16}, "per_device_train_batch_size"),
        ({"optim": "schedule_free_adamw"}, "schedule_free"),
        ({"position_embedding_type": "learned", "max_target_positions": 30}, "max_target_positions"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_settings_that_cannot_work(refused, tiny_run, changes, message):
    given = {name: tiny_run if value == "RUN" else value for name, value in changes.items()}
    assert message in refused(**given)


def test_a_reporter_that_is_unknown_or_not_installed(refused, monkeypatch):
    assert "report_to is wundb" in refused(report_to="wundb")

    def missing():
        raise RuntimeError("WandbCallback requires wandb to be installed. Run `pip install wandb`.")

    monkeypatch.setitem(INTEGRATION_TO_CALLBACK, "wandb", missing)
    assert "requires wandb to be installed" in refused(report_to="wandb")


def test_a_schedule_with_wrong_settings(refused):
    message = refused(lr_scheduler_type="cosine", lr_scheduler_kwargs='{"cycles": 2}')
    assert "lr_scheduler_kwargs {'cycles': 2}" in message and "unexpected keyword argument" in message


def test_a_library_of_the_target_language(refused, monkeypatch):
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ja_mecab.MeCab", None)
    assert "pip install 'glossa-mt[mecab]'" in refused(target_language="ja")


def test_free_space(refused, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(2**40, 2**40, 3 * 2**30))
    # 25 million parameters: 0.28 GiB with Adam's two moments, six times; 0.09 GiB for the finished model.
    large = {"d_model": 512, "vocab_size": 32000, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048}
    assert "lower save_total_limit" in refused(**large, save_total_limit=20)


def test_a_folder_in_the_place_of_a_file(tmp_path, tiny_settings):
    (tmp_path / "run/checkpoint-1").mkdir(parents=True)
    (tmp_path / "run/tokenizer.json").mkdir()
    (tmp_path / "run/tokenizer_config.json").touch()
    with pytest.raises(GlossaError, match=r"run/tokenizer\.json is a folder"):
        check_before_data(parse_settings(tiny_settings(tmp_path / "run")))


def test_greedy_decoding_with_a_length_penalty_can_be_saved(tmp_path, tiny_train):
    folder = tiny_train(tmp_path / "run", num_beams=1, length_penalty=0.6, max_steps=2, save_steps=1, **QUIET)
    assert (folder / "generation_config.json").is_file()


def test_a_model_of_other_languages(refused, tiny_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "french").symlink_to(tiny_run)
    message = refused(init_from="french", target_language="de")
    assert "which translates from en to fr; the data are en to de" in message


def test_a_model_of_other_languages_that_is_meant_so(tiny_run, tiny_train, tmp_path, caplog):
    changes = {"init_from": tiny_run, "target_language": "de", "trust_data": True, "max_steps": 1}
    tiny_train(tmp_path / "run", **QUIET | changes)
    assert "which translates from en to fr; the data are en to de" in caplog.text


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (BertConfig(), "which does not translate text to text"),
        (WhisperConfig(), "which does not translate text to text"),
        (MarianConfig(quantization_config={"quant_method": "gptq", "bits": 4}), "whose weights are quantized"),
        (MarianConfig(), "which keeps its architecture and vocabulary. Leave d_model out"),
    ],
)
def test_families_that_cannot_be_trained_are_refused_by_name(config, problem, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config.save_pretrained("start")
    assert f"start, a model of the family {config.model_type}, {problem}" in refused(init_from="start")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"muon_learning_rate": 0.02}, "which Muon does not support. Leave muon_learning_rate out"),
        ({"fp16": True}, "whose values are too large for float16: its loss becomes NaN. Set bf16 to true"),
    ],
)
def test_settings_that_cannot_apply_to_a_family_are_refused(given, problem, tmp_path, monkeypatch):
    T5Config().save_pretrained(tmp_path)
    settings = parse_settings(command_line({"init_from": tmp_path, "output_dir": tmp_path / "run"} | given))
    with pytest.raises(GlossaError, match=problem):
        check_family(settings)


@pytest.mark.parametrize(
    ("file", "changes", "problem"),
    [
        ("config", {"decoder_start_token_id": 9000}, "whose decoder starts with token 9000, but it has 31 tokens"),
        ("config", {"vocab_size": 30}, "whose tokenizer has the token id 30, but its embeddings have 30 rows"),
    ],
)
def test_a_folder_that_contradicts_itself_is_refused(file, changes, problem, tmp_path):
    path = publish("opus-mt", tmp_path / "start", WORDS, WORDS) / f"{file}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    settings = parse_settings(["--init_from", str(tmp_path / "start"), "--output_dir", str(tmp_path / "run")])
    with pytest.raises(GlossaError, match=problem):
        check_family(settings)


def test_a_tokenizer_without_its_file_is_refused(tmp_path):
    (publish("t5", tmp_path, WORDS, WORDS) / "spiece.model").unlink()
    settings = parse_settings(["--init_from", str(tmp_path), "--output_dir", str(tmp_path / "run")])
    with pytest.raises(GlossaError, match="whose tokenizer has no tokens of text, as if a file of it were missing"):
        check_family(settings)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"max_length": 1}, "Input length of decoder_input_ids is 1"), ({"num_beams": 0}, "division"),
        ({"do_sample": True, "temperature": 0.0}, "strictly positive float"),
    ],
)  # fmt: skip
def test_settings_of_the_search_that_do_not_work_are_refused(changes, problem, tmp_path):
    path = publish("opus-mt", tmp_path / "start", WORDS, WORDS) / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    settings = parse_settings(["--init_from", str(tmp_path / "start"), "--output_dir", str(tmp_path / "run")])
    with pytest.raises(GlossaError, match=f"whose generation_config.json does not work: .*{problem}"):
        load_start(settings)


class Hostile:
    """Pickled, it makes a file when it is read."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_a_hostile_pickle_runs_nothing(tmp_path):
    folder = publish("opus-mt", tmp_path / "start", WORDS, WORDS)
    (folder / "model.safetensors").unlink()
    torch.save({"weights": Hostile(tmp_path / "mark")}, folder / "pytorch_model.bin")
    settings = parse_settings(["--init_from", str(folder), "--output_dir", str(tmp_path / "run")])
    with pytest.raises(GlossaError, match="its weights are a pickle that holds more than tensors"):
        load_start(settings)
    assert not (tmp_path / "mark").exists()


def test_pickled_tensors_are_read_and_said(tmp_path, caplog):
    caplog.set_level("INFO")
    folder = publish("opus-mt", tmp_path / "start", WORDS, WORDS, pickled=True)
    load_start(parse_settings(["--init_from", str(folder), "--output_dir", str(tmp_path / "run")]))
    assert f"Read only tensors from the pickled weights of {folder}." in caplog.text
