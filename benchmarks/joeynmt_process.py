"""A training in JoeyNMT's environment, for the race: `python -m benchmarks.joeynmt_process JOB`.

JOB is the file that [`benchmarks.joeynmt`] writes; report.json next to it has the result. Imports nothing from Glossa.
"""

import json
import sys
from pathlib import Path

import sentencepiece
from joeynmt import training
from joeynmt.helpers import make_model_dir
from joeynmt.prediction import predict

from .clock import Clock
from .parent import end_with_parent


def main(job: Path) -> None:
    end_with_parent()
    given = json.loads(job.read_text(encoding="utf-8"))
    clock = Clock(**given["clock"])
    config = given["config"]
    build_vocabulary(config["data"])
    managers = []

    class Manager(training.TrainManager):
        """Evaluates when the clock says so, and saves no checkpoints for it."""

        def _validate(self, valid_data) -> None:
            managers.append(self)
            if not clock.is_due():
                return
            scores = predict(
                model=self.model,
                data=valid_data,
                device=self.device,
                n_gpu=self.n_gpu,
                args=self.dev_cfg,
                autocast=self.autocast,
            )[0]
            # JoeyNMT ends training after its last step.
            self.stats.is_max_update |= clock.note(self.stats.steps, scores["bleu"])

    training.TrainManager = Manager
    make_model_dir(Path(config["model_dir"]), overwrite=False)
    training.train(rank=0, world_size=0, cfg=config, skip_test=True)
    parameters = sum(weight.numel() for weight in managers[0].model.parameters() if weight.requires_grad)
    report = {"parameters": parameters} | clock.report()
    job.with_name("report.json").write_text(json.dumps(report), encoding="utf-8")


def build_vocabulary(data: dict) -> None:
    """Train the pieces that both languages share, with sentencepiece, on the training text."""
    model = Path(data["src"]["tokenizer_cfg"]["model_file"])
    sentencepiece.SentencePieceTrainer.train(
        input=[f"{data['train']}.source", f"{data['train']}.target"],
        model_prefix=str(model.with_suffix("")),
        model_type="bpe",
        vocab_size=data["vocab_size"],
        character_coverage=1.0,
        minloglevel=2,
    )
    lines = model.with_suffix(".vocab").read_text(encoding="utf-8").splitlines()
    pieces = [line.split("\t")[0] for line in lines]
    pieces = [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]  # JoeyNMT adds its own
    Path(data["src"]["voc_file"]).write_text("\n".join(pieces) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
