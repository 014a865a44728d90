"""The files of a checkpoint: which are missing or damaged, and who saved them."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError, safe_open

from .errors import GlossaError
from .jobs.whole_files import write_whole

# Written last in a checkpoint, so a checkpoint without it is incomplete.
CHECKPOINT_STATE = "trainer_state.json"
CHECKPOINT_PARTS = ("config.json", "tokenizer_config.json", CHECKPOINT_STATE, "scheduler.pt")
VOCABULARIES = ("tokenizer.json", "target_tokenizer.json", "vocab.json", "target_vocab.json")
OPTIMIZER = "optimizer.pt"
SHARDED_PARTS = ("optimizer.bin", "pytorch_model_fsdp.bin")  # replace OPTIMIZER with FSDP
DEEPSPEED = "latest"  # replaces OPTIMIZER with DeepSpeed; has the name of the optimizer's folder
CHECKSUMS = "checksums.json"  # of the other files of a checkpoint
STREAM = "stream_{}.json"  # for each process: its position in the stream of training rows
NAMES = {dict: "mapping", list: "list"}
RESTORE = "Restore it from a copy, or give another folder."


def read_file(file: Path, parse: Callable[[str], Any], kind: Any) -> Any:
    """Read a file with `parse`. Raises `GlossaError` if it is damaged."""
    try:
        value = parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise GlossaError(f"{file} is damaged: {' '.join(str(error).split())[:200]}. {RESTORE}") from error
    if not isinstance(value, kind):
        raise GlossaError(f"{file} is damaged: it holds no {NAMES[kind]}. {RESTORE}")
    return value


def find_damage(checkpoint: Path) -> str:
    """The missing or damaged files of `checkpoint`, such as "optimizer.pt is missing"; "" if there are none."""
    weights = [*checkpoint.glob("*.safetensors")] or [checkpoint / "model.safetensors"]
    random_states = [*checkpoint.glob("rng_state*.pth")] or [checkpoint / "rng_state.pth"]
    optimizer: tuple[str, ...] = SHARDED_PARTS if was_sharded(checkpoint) else (OPTIMIZER,)
    if (checkpoint / DEEPSPEED).is_file():
        optimizer = ()  # DeepSpeed checks its own files
    parts = [*CHECKPOINT_PARTS, *optimizer]
    files = [*(checkpoint / name for name in parts), *weights, *random_states, *checkpoint.glob(STREAM.format("*"))]
    changed = _changed(checkpoint)
    if CHECKSUMS not in changed:
        files += [path for name in _sums(checkpoint) if _is_vocabulary(path := checkpoint / name)]
    missing = [f"{path.name} is missing" for path in files if not path.is_file()]
    there = [path for path in files if path.is_file()]
    damaged = [f"{path.name} is damaged" for path in there if _is_damaged(path) or path.name in changed]
    others = [f"{name} has changed" for name in sorted(changed - {path.name for path in there})]
    return ", ".join([*missing, *damaged, *others])


def write_checksums(checkpoint: Path) -> None:
    """Write the checksums of all files of `checkpoint`, which must be complete."""
    sums = {str(file.relative_to(checkpoint)): _checksum(file) for file in sorted(_files(checkpoint))}
    write_whole(checkpoint / CHECKSUMS, json.dumps(sums, indent=2) + "\n")


def _changed(checkpoint: Path) -> set[str]:
    """Names of the files that have changed since they were saved; none if the checkpoint has no checksums."""
    try:
        sums = _sums(checkpoint)
    except GlossaError:
        return {CHECKSUMS}
    return {name for name, sum_ in sums.items() if (own := checkpoint / name).is_file() and _checksum(own) != sum_}


def _sums(checkpoint: Path) -> dict[str, str]:
    """The checksums by file; empty for a checkpoint without them, from an earlier version or a killed run."""
    file = checkpoint / CHECKSUMS
    return read_file(file, json.loads, dict) if file.is_file() else {}


def _is_vocabulary(path: Path) -> bool:
    """Whether a file of a checkpoint may belong to a tokenizer. The names differ by model family."""
    return path.suffix in (".model", ".spm", ".txt", ".tokenizer") or path.name in VOCABULARIES


def _files(checkpoint: Path) -> Iterator[Path]:
    return (path for path in checkpoint.rglob("*") if path.is_file() and path.name != CHECKSUMS)


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()[:32]


def stream_file(checkpoint: Path, process: int) -> Path:
    """The file in a checkpoint with the position of a process in the stream of training rows."""
    return checkpoint / STREAM.format(process)


def was_sharded(checkpoint: Path) -> bool:
    """Whether `checkpoint` was saved with FSDP. Only training with FSDP can continue it."""
    return any((checkpoint / name).is_file() for name in SHARDED_PARTS)


def count_processes(checkpoint: Path) -> int:
    """The number of processes that saved `checkpoint`. Each saves its random state."""
    return max(len([*checkpoint.glob("rng_state*.pth")]), 1)


def _is_damaged(path: Path) -> bool:
    if path.suffix == ".json":
        try:
            return not isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
        except ValueError:
            return True
    if _is_vocabulary(path):  # only a checksum shows damage in these formats
        return False
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, framework="numpy"):
                return False
        except SafetensorError:
            return True
    return not zipfile.is_zipfile(path)  # torch writes the zip directory last


def checkpoint_step(checkpoint: Path) -> int:
    """The step of `checkpoint`, a folder named `checkpoint-STEP`."""
    return int(checkpoint.name.rpartition("-")[2])
