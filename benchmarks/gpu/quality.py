"""Last part: BLEU of greedy translations of the validation split against minutes of training, in the time left."""

import time
from pathlib import Path

from transformers import set_seed

from glossa.train.data.arguments import DataArguments
from glossa.train.plan.arguments import parse_settings

from ..corpus import data_arguments
from ..race import NEVER, Clock, Watch, build_glossa
from .first import REHEARSAL
from .record import Options, Record, empty

RESERVE = 40  # seconds, for the evaluations, in which the clock stands still
REHEARSED = 3.0  # seconds of training in a rehearsal
EVALUATIONS = 6
PERFECT = 100.1  # BLEU: a mark that is never reached
SENTENCES = {"cuda": 500, "cpu": 8}
# A base model (Vaswani et al. 2017) with Glossa's parts, for pairs of files; about 50 million parameters.
BASE = {
    "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
    "decoder_attention_heads": 8, "num_key_value_heads": 8, "encoder_ffn_dim": 1408, "decoder_ffn_dim": 1408,
    "batch_tokens": 8192, "learning_rate": 1e-3, "muon_learning_rate": 1e-2, "warmup_steps": 200, "dropout": 0.15,
}  # fmt: skip
NO_LIMIT = {"cuda": 20_000, "cpu": 40}  # steps: more than the time allows


def measure(record: Record, options: Options) -> None:
    began = time.monotonic()
    argv = settings(options, empty(options.folder / "quality"))
    parsed = parse_settings(argv)
    set_seed(parsed.training.seed)
    trainer = build_glossa(parsed)
    left = options.seconds - (time.monotonic() - began) - RESERVE
    limit = REHEARSED if options.rehearsal else max(left, 1.0)
    title = f"quality, {argv[0]}, {trainer.model.num_parameters():,} parameters"
    trainer.add_callback(Note(Clock([PERFECT], limit, limit / EVALUATIONS), record, title))
    trainer.train()


class Note(Watch):
    """Evaluates when the clock says so, and adds each BLEU to the record at once."""

    def __init__(self, clock: Clock, record: Record, title: str):
        super().__init__(clock)
        self.record, self.title = record, title

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        super().on_evaluate(args, state, control, metrics, **kwargs)
        seconds, bleu = self.clock.history[-1]
        row = {"steps": state.global_step, "minutes": seconds / 60, "validation BLEU, greedy": bleu}
        self.record.add(self.title, **row)


def settings(options: Options, folder: Path) -> list[str]:
    """Anki at base size if `--data` has it, Multi30k likewise, else the quickstart."""
    changes: dict = {
        "output_dir": folder, "bf16": options.bf16, "max_steps": NO_LIMIT[options.device], "report_to": "none",
        "eval_strategy": "steps", "eval_steps": NEVER, "eval_samples": 0, "save_strategy": "no",
        "load_best_model_at_end": "false", "max_validation_samples": SENTENCES[options.device], "max_new_tokens": 64,
        "lr_scheduler_type": "constant_with_warmup", "per_device_eval_batch_size": SENTENCES[options.device],
    }  # fmt: skip
    recipe = "quickstart"
    if options.data:
        found = data_arguments(options.data)
        anki = Path(options.data) / "fra-eng.zip"
        if anki.is_file():  # more pairs than Multi30k's, which may be in the folder too
            found = DataArguments(dataset="anki", data_path=[str(anki)], target_language="fr")
        recipe = "anki-en-fr" if found.dataset == "anki" else "multi30k-en-de"
        changes |= {} if options.rehearsal else BASE
        changes |= {"dataset": found.dataset, "data_path": found.data_path, "target_language": found.target_language}
        if found.dataset == "files":
            changes |= {"validation_path": found.validation_path, "test_path": found.test_path}
    argv = [recipe, *(REHEARSAL if options.rehearsal else [])]
    for name, value in changes.items():
        argv += [f"--{name}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    return argv
