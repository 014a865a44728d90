"""Facts of a run: what the tables of its card say."""

import pytest
import yaml

from glossa.train.hub.facts import Run

MEANS = {
    "muon_learning_rate": ("0.02", "Learning rate of Muon, for the matrices of the layers"),
    "average_checkpoints": ("10", "Averaged checkpoints"), "lora_rank": ("16", "Rank of the adapters"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def test_the_training_table_names_all_that_made_the_weights(folder):
    recipe = {name: yaml.safe_load(value) for name, (value, _) in MEANS.items()}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe | {"optim": "adamw_torch"}))
    rows = dict(Run(folder).training())
    assert rows["Optimizer"] == "adamw_torch"
    assert {row: rows[row] for _, row in MEANS.values()} == {row: value for value, row in MEANS.values()}


@pytest.mark.parametrize("nothing", [0, 0.0, None, False])
def test_the_training_table_has_no_row_for_what_was_not_used(folder, nothing):
    (folder / "recipe.yaml").write_text(yaml.safe_dump(dict.fromkeys(MEANS, nothing) | {"seed": 1}))
    rows = Run(folder).training()
    assert rows == [("Precision", "fp32"), ("Seed", "1")]
