"""Python processes in which neither Glossa nor what it needs beyond transformers can be imported."""

import os
import subprocess

# Users who load the folder may lack the package and its dependencies other than torch and transformers.
ABSENT = ["glossa", "datasets", "evaluate", "sacrebleu", "accelerate", "tensorboard", "matplotlib", "scipy"]
PREAMBLE = f"""import json, sys
absent = {ABSENT}
sys.modules.update(dict.fromkeys([*absent, *(name for name in sys.modules if name.split(".")[0] in absent)]))
"""


def run_bare(early, code, tmp_path, *arguments):
    """Run `code` in a new process in `tmp_path`, without standard input and with its own folder for remote code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment["HF_MODULES_CACHE"] = str(tmp_path / "modules")
    environment["HF_HOME"] = str(tmp_path / "home")
    return subprocess.run(
        [early.path / "python", "-I", "-c", PREAMBLE + code, *map(str, arguments)], cwd=tmp_path, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
