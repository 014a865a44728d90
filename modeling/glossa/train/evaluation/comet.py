"""COMET (Rei et al. 2020), run as the command `comet-score` from a separate environment.

Its package, unbabel-comet, pins older versions of libraries that Glossa needs.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...base.errors import GlossaError

COMMAND = "comet-score"
MODEL = "Unbabel/wmt22-comet-da"  # the default of COMET 2.2
HOW_TO_INSTALL = (
    "Install it in a separate environment: python -m venv comet; comet/bin/pip install unbabel-comet; and add "
    "comet/bin to the end of PATH."
)


def find_command() -> str | None:
    """The path of `comet-score`; None if it is not installed."""
    return shutil.which(COMMAND)


def comet_score(command: str, sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> float:
    """The system score, about 0 to 1.

    Args:
        command: The path from [`find_command`].
        sources: Source texts.
        translations: One translation per source.
        references: One reference per source.

    Raises:
        GlossaError: if the command fails or prints no score.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for option, texts in (("-s", sources), ("-t", translations), ("-r", references)):
            file = Path(folder, option.strip("-"))
            file.write_text("".join(" ".join(text.split()) + "\n" for text in texts), encoding="utf-8")
            files += [option, str(file)]
        arguments = [command, *files, "--model", MODEL, "--quiet", "--only_system"]
        process = subprocess.run(arguments, capture_output=True, text=True, check=False)
    found = re.findall(r"score: (-?\d+\.\d+)", process.stdout)
    if process.returncode or not found:
        lines = (process.stderr or process.stdout).strip().splitlines() or [f"exit status {process.returncode}"]
        raise GlossaError(f"{COMMAND} failed: {lines[-1]}")
    return float(found[-1])
