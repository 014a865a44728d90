"""`glossa train` in several processes of torch's elastic launcher, which `torchrun` and `accelerate launch` call too.

`together` forks those that train from one process, which has the libraries: a start takes a second instead of ten.
"""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

from accelerate import DistributedType, PartialState
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from glossa.cli import score
from glossa.cli.train import main
from glossa.train.run import train
from glossa.train.trainer import GlossaTrainer
from glossa.translate.translator import Translator

assert train  # imported for the processes that are forked


def use_fsdp_on_cpus() -> None:
    """Make Accelerate treat CPUs as GPUs, since it uses FSDP on several GPUs only."""
    start = PartialState.__init__

    def with_gpus(self, *args, **kwargs) -> None:
        start(self, *args, **kwargs)
        if self._shared_state["distributed_type"] == DistributedType.MULTI_CPU:  # later it is FSDP
            self._shared_state["distributed_type"] = DistributedType.MULTI_GPU

    PartialState.__init__ = with_gpus


def together(zygote, *launches):
    """Train with several processes of one machine for each launch in turn; what each start of each launch printed.

    A launch is a dictionary of `arguments` for `glossa train` and `folder`, which gets `batches-RANK.json`: epoch and
    labels of each batch of that process since its last start, and `translated-RANK.json`: how many texts each
    translation that scored the model had, and whether the processes shared them. Optional are `processes` (default:
    2), `environment`, `restarts`, and `dies`: the process of rank 1 kills itself at this batch of the first start.
    """
    process = start(zygote, *launches)
    output, _ = process.communicate(timeout=300)
    printed = [_printed(Path(launch["folder"])) for launch in launches]
    assert process.returncode == 0, (printed, output)
    return printed


def start(zygote, *launches):
    """The Popen of these launches."""
    return subprocess.Popen(
        [zygote.path / "python", __file__, json.dumps(launches, default=str)],
        env=zygote.environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _printed(folder):
    starts = sorted({path.parents[1] for path in folder.glob("logs/*/attempt_*/*/*.log")})
    return ["".join(path.read_text() for path in sorted(start.glob("*/*.log"))) for start in starts]


def scored(zygote, folder, arguments):
    """What the first of two processes prints that score with these arguments of `glossa score`."""
    together(zygote, {"folder": folder, "arguments": arguments, "scores": True})
    (file,) = Path(folder).glob("logs/*/attempt_0/0/stdout.log")
    return file.read_text()


def _launch(folder, arguments, processes=2, environment=None, restarts=0, dies=0, scores=False):
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=processes, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        local_addr="localhost", max_restarts=restarts, start_method="fork",
        logs_specs=DefaultLogsSpecs(log_dir=f"{folder}/logs", redirects=Std.ALL),
    )  # fmt: skip
    if scores:
        elastic_launch(config, score.main)(arguments)
    else:
        elastic_launch(config, _work)(folder, arguments, environment or {}, dies)


def torchrun(zygote, folder, arguments, dies, *options):
    """Train in a process that `torchrun` starts; the Popen of `torchrun`."""
    command = [zygote.path / "python", "-m", "torch.distributed.run", *options, "--nproc_per_node", "1", __file__]
    settings = {"folder": str(folder), "arguments": arguments, "environment": {}, "dies": dies}
    return subprocess.Popen(
        [*command, json.dumps(settings)],
        env=zygote.environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _work(folder, arguments, environment, dies):
    """What each process runs."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")  # as the command does
    os.environ |= environment
    rank, first = int(os.environ["RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    batches, step = [], GlossaTrainer.training_step

    def training_step(self, model, inputs, *args, **kwargs):
        labels = [[token for token in row if token >= 0] for row in inputs["labels"].tolist()]
        batches.append([int(self.state.epoch), labels])
        if rank == 1 and first and len(batches) == dies:
            (Path(folder) / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, model, inputs, *args, **kwargs)

    shared, translate = [], Translator.translate

    def noted(self, texts, **options):
        shared.append([len(texts), self.execution.shared])
        return translate(self, texts, **options)

    GlossaTrainer.training_step, Translator.translate = training_step, noted
    if "ACCELERATE_USE_FSDP" in environment:
        use_fsdp_on_cpus()
    main([*arguments, "--ddp_backend", "gloo"])
    (Path(folder) / f"batches-{rank}.json").write_text(json.dumps(batches))
    (Path(folder) / f"translated-{rank}.json").write_text(json.dumps(shared))


if __name__ == "__main__":
    if "RANK" in os.environ:  # started by torchrun
        _work(**json.loads(sys.argv[1]))
    else:
        # Without it, processes that are started again may look for those that died: docs/scaling.md.
        os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        for one in json.loads(sys.argv[1]):
            _launch(**one)
