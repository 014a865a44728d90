"""Quality under a fixed budget: a fault in model, loss, batches or optimizer that slows learning down fails here."""

import pytest

from glossa.run_folder import RunFolder
from glossa.training.arguments import parse_settings
from glossa.training.run import train

BUDGET = "--dataset embedded --target_language fr --vocab_size 1200 --max_steps 150 --warmup_steps 40 "
BUDGET += "--batch_tokens 750 --dropout 0.1 --eval_strategy no --save_strategy no --load_best_model_at_end false "
BUDGET += "--num_beams 1 --test_size 0 --max_validation_samples 200 --max_test_samples 1 --cpu_threads 1 "
BUDGET += "--report_to none --disable_tqdm true"


@pytest.mark.slow
def test_the_small_recipe_learns_the_embedded_corpus(tmp_path):
    run = train(parse_settings(["multi30k-en-de", *BUDGET.split(), "--output_dir", str(tmp_path / "run")]))
    metrics = RunFolder(run).metrics
    assert metrics["steps"] == 150
    assert metrics["validation"]["greedy"]["scores"]["single"]["bleu"]["score"] > 0
