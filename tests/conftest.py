"""Tiny models, shared by the tests of the model, its generation and its saved folder."""

import pytest
import torch
from small_models import ARCHITECTURES, TINY

from glossa import GlossaConfig, GlossaForConditionalGeneration

torch.set_num_threads(1)  # models this small lose more by handing work around than they win


@pytest.fixture(autouse=True)
def seeded():
    """No test sees the random numbers that the tests before it left over; pytest-randomly does not seed torch."""
    torch.manual_seed(0)


@pytest.fixture
def tiny_config():
    return lambda **settings: GlossaConfig(**(TINY | settings))


@pytest.fixture
def tiny_model(tiny_config):
    def build(**settings):
        """In float64, so that tolerances can be tight, and away from the start, where biases are 0 and norms 1."""
        torch.manual_seed(0)
        model = GlossaForConditionalGeneration(tiny_config(**settings)).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return model

    return build


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    return ARCHITECTURES[request.param]


@pytest.fixture(scope="session")
def tiny_pairs(tmp_path_factory):
    """Two hundred made-up pairs: "x y." and "y x!", in one file."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("".join(f"{a} {b}.\t{b} {a}!\n" for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"))
    return path


@pytest.fixture(scope="session")
def tiny_settings(tiny_pairs):
    """The command line of a run of seconds; keywords change or add settings."""

    def arguments(output_dir, **changes):
        settings = {
            "dataset": "files", "data_path": tiny_pairs, "validation_size": 20, "test_size": 20, "vocab_size": 280,
            "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
            "batch_tokens": 100, "gradient_accumulation_steps": 1, "num_train_epochs": 2, "warmup_steps": 4,
            "logging_steps": 3, "num_beams": 2, "max_new_tokens": 12, "eval_strategy": "steps", "eval_steps": 5,
            "save_strategy": "steps", "save_steps": 5, "report_to": "none", "disable_tqdm": True, "cpu_threads": 1,
            "output_dir": output_dir,
        } | changes  # fmt: skip
        return [text for name, value in settings.items() for text in (f"--{name}", str(value))]

    return arguments


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory, tiny_settings):
    """The folder of a finished run of seconds."""
    from glossa.training.arguments import parse_settings
    from glossa.training.run import train

    return train(parse_settings(tiny_settings(tmp_path_factory.mktemp("runs") / "tiny")))
