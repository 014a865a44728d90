"""The files that start a training elsewhere, as far as they can be checked here: what they would run."""

import ast
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

ROOT = Path(__file__).parents[2]
ACCELERATE, LAUNCH = ROOT / "configuration" / "accelerate", ROOT / "configuration" / "launch"


def launched(words):
    """The arguments of `accelerate launch WORDS`, with those of its file."""
    arguments, _, _ = _validate_launch_command(launch_command_parser().parse_args(words))
    return arguments


@pytest.mark.parametrize("path", sorted(ACCELERATE.iterdir()), ids=lambda path: path.stem)
def test_accelerate_accepts_the_file(path):
    load_config_from_file(str(path))  # raises for a key that Accelerate does not know
    command = re.search(r"# (accelerate launch (?:.|\\\n#)+?RECIPE\.yaml)", path.read_text())[1]
    words = shlex.split(command.replace("\\\n#", ""))
    assert words[:4] == ["accelerate", "launch", "--config_file", str(path.relative_to(ROOT))]
    assert (ROOT / words[-2]).is_file()
    values = {"N": "1", "ADDRESS": "10.0.0.1"}
    arguments = launched([values.get(word, word) for word in words[2:]])
    assert arguments.training_script_args == ["RECIPE.yaml"]
    expected = {"single": 1, "eight_gpus": 8, "fsdp": 8, "several_nodes": 32, "deepspeed_zero2": 8}
    assert arguments.num_processes == expected[path.stem]
    if path.stem == "several_nodes":
        environment = prepare_multi_gpu_env(arguments)
        assert arguments.nproc_per_node == "8" and arguments.node_rank == 1 and environment


def test_deepspeed_splits_the_optimizer():
    """The settings of the processes: ZeRO stage 2, and the Trainer's values for accumulation and clipping."""
    arguments = launched(["--config_file", str(ACCELERATE / "deepspeed_zero2.yaml"), "scripts/train.py"])
    assert arguments.use_deepspeed and not arguments.multi_gpu and not arguments.use_fsdp
    arguments.deepspeed_fields_from_accelerate_config = ""  # launch_command sets it
    _, environment = prepare_deepspeed_cmd_env(arguments)
    found = {name: environment[f"ACCELERATE_{name}"] for name in ("USE_DEEPSPEED", "DEEPSPEED_ZERO_STAGE")}
    assert found == {"USE_DEEPSPEED": "true", "DEEPSPEED_ZERO_STAGE": "2"}
    assert environment["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == "auto"
    assert environment["ACCELERATE_GRADIENT_CLIPPING"] == "auto"


def assert_restarts(arguments, variable, address):
    """Processes that are started again must not look for those that died: docs/scaling.md."""
    assert variable == "1"
    prepare_multi_gpu_env(arguments)
    found = (arguments.max_restarts, arguments.rdzv_backend, arguments.rdzv_endpoint)
    assert found == (3, "c10d", f"{address}:29500")
    assert arguments.training_script_args[-2:] == ["--resume_from_checkpoint", "true"]


@pytest.fixture
def run_with_stubs(tmp_path):
    """Run a shell script whose `accelerate` prints its arguments, one a line; the arguments of each call."""
    for name, body in {
        "accelerate": 'printf "%s\\n" --- "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE" "$@"',
        "srun": 'for SLURM_NODEID in 0 1; do export SLURM_NODEID; "$@"; done',
        "scontrol": 'test "$*" = "show hostnames one,two" && printf "one\\ntwo\\n"',
    }.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)

    def run(script, arguments, environment):
        everything = os.environ | environment | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        command = ["bash", "-c", script, "script", *arguments]
        output = subprocess.run(command, env=everything, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return [call.splitlines() for call in output.split("---\n")[1:]]

    return run


def test_the_slurm_script_starts_a_launcher_on_each_node(run_with_stubs):
    environment = {"SLURM_JOB_NODELIST": "one,two", "SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "4"}
    script = (LAUNCH / "slurm.sh").read_text()
    calls = run_with_stubs(script, ["my recipe.yaml", "--seed", "2"], environment)
    assert len(calls) == 2
    for rank, call in enumerate(calls):
        shared, command, *words = call
        arguments = launched(words)
        assert command == "launch" and (arguments.num_machines, arguments.num_processes) == (2, 8)
        assert (arguments.machine_rank, arguments.main_process_ip) == (rank, "one")
        expected = ["my recipe.yaml", "--seed", "2", "--resume_from_checkpoint", "true"]
        assert arguments.training_script == "scripts/train.py" and arguments.training_script_args == expected
        assert_restarts(arguments, shared, "one")


def test_ray_accepts_its_cluster():
    util = pytest.importorskip("ray.autoscaler._private.util", reason='needs Ray: pip install "glossa-mt[ray]"')
    cluster = yaml.safe_load((LAUNCH / "ray.yaml").read_text())
    util.validate_config(util.prepare_config(cluster))
    with pytest.raises(Exception, match="max_worker"):
        util.validate_config(util.prepare_config(cluster | {"max_worker": 2}))


def test_the_slurm_script_of_ray_starts_it_on_all_nodes(tmp_path):
    stubs = {
        "scontrol": "echo one; echo two",
        "srun": """case "$*" in *hostname*) echo "10.0.0.1 fe80::1";; *) printf '%s\\n' "$@";; esac""",
    }
    for name, body in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "one,two", "SLURM_NNODES": "2"}
    command = ["bash", str(LAUNCH / "ray.sh"), "glossa", "prepare", "my recipe.yaml", "--ray", "auto"]
    words = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    assert words[:6] == ["ray", "symmetric-run", "--address", "10.0.0.1:6379", "--min-nodes", "2"]
    assert words[6:] == ["--", *command[2:]]
    scripts = pytest.importorskip("ray.scripts.symmetric_run", reason='needs Ray: pip install "glossa-mt[ray]"')
    assert {"--address", "--min-nodes"} <= {option for one in scripts.symmetric_run.params for option in one.opts}


def test_the_task_of_skypilot(run_with_stubs):
    task = yaml.safe_load((LAUNCH / "sky.yaml").read_text())
    assert set(task) == {"name", "num_nodes", "resources", "workdir", "envs", "setup", "run"}
    assert "-c constraints.txt" in task["setup"] and (ROOT / "constraints.txt").is_file()
    nodes = {"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NUM_GPUS_PER_NODE": "8", "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2"}
    (call,) = run_with_stubs(task["run"], [], task["envs"] | nodes | {"SKYPILOT_NODE_RANK": "1"})
    arguments = launched(call[2:])
    assert (arguments.num_processes, arguments.machine_rank, arguments.main_process_ip) == (16, 1, "10.0.0.1")
    assert arguments.training_script_args[0] == task["envs"]["RECIPE"]
    assert_restarts(arguments, call[0], "10.0.0.1")
    assert (ROOT / "configuration" / f"{task['envs']['RECIPE']}.yaml").is_file()


@pytest.mark.parametrize("name", ["Dockerfile", "serve.Dockerfile"])
def test_the_images_have_the_pinned_libraries(name):
    text = (LAUNCH / name).read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines]
    (install,) = [line for line in lines if "pip install" in line]
    assert words[0] == "FROM" and "ENTRYPOINT" in words and "-c /glossa/constraints.txt" in install
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.search(r"/glossa\[([a-z,]+)\]", install)[1].split(",")
    assert set(extras) <= set(project["optional-dependencies"])


def test_the_server_in_a_container_has_no_privileges():
    """Nobody's files, a read-only root, and this machine only; its program and its check are those of the image."""
    service = yaml.safe_load((LAUNCH / "serve.compose.yaml").read_text())["services"]["glossa"]
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"] and service["ports"] == ["127.0.0.1:5000:5000"]
    assert (LAUNCH / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    image = (LAUNCH / "serve.Dockerfile").read_text().replace("\\\n", "")
    assert re.search(r"^USER 1000$", image, re.M) and 'ENTRYPOINT ["glossa", "serve"' in image
    check = json.loads(re.search(r"HEALTHCHECK .*? CMD (\[.*\])", image)[1])
    ast.parse(check[2])
    assert check[:2] == ["python", "-c"] and "/health" in check[2]


@pytest.mark.slow
def test_the_image_serves_and_is_found_healthy(tiny_run, tmp_path):
    """The program, the check and the folder of the image, without Docker; other folders are out of reach."""
    image = (LAUNCH / "serve.Dockerfile").read_text().replace("\\\n", "")
    _, *start = json.loads(re.search(r"^ENTRYPOINT (\[.*\])", image, re.M)[1])
    _, *check = json.loads(re.search(r"HEALTHCHECK .*? CMD (\[.*\])", image)[1])
    assert re.search(r"^ENV HF_HOME=/cache$", image, re.M)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    check = [sys.executable, *(word.replace(":5000", f":{port}") for word in check)]
    home = {"HF_HOME": str(tmp_path / "cache"), "HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"}
    command = [sys.executable, "-m", "glossa_command", *start, f"en-fr={tiny_run}", "--port", port]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd="/", env=os.environ | home, stdout=log, stderr=log)
    try:
        for _ in range(240):
            healthy = subprocess.run(check, capture_output=True).returncode == 0
            if healthy or server.poll() is not None:
                break
            time.sleep(0.5)
        assert healthy, (tmp_path / "log").read_text()
        text = json.dumps({"q": "a k.", "source": "en", "target": "fr"}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/translate", text, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert "translatedText" in json.load(answer)
    finally:
        server.terminate()
        server.wait()
    assert "--keys" in (tmp_path / "log").read_text()  # whoever reaches the machine may use it


def test_the_job_of_hugging_face():
    text = (LAUNCH / "hf_job.py").read_text()
    block = re.search(r"(?m)^# /// script$\n((?:#.*\n)+?)# ///$", text)[1]
    metadata = tomllib.loads("".join(line[2:] + "\n" for line in block.splitlines()))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert metadata["requires-python"] == project["requires-python"]
    assert metadata["dependencies"][0].endswith(f"/glossa_mt-{project['version']}-py3-none-any.whl")
    assert ast.parse(text).body[-1].body[0].value.args[0].value == "train"
