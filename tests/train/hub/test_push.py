"""Push a run to a local Hub and load it by name without Glossa."""

import json
import re
import shutil
from pathlib import Path

import pytest
from environments import without_glossa
from hub_server import Hub
from pushing import NAME, TOKEN, run_script, start, upload
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.train.hub.changes import RECORD
from glossa.train.hub.push import check, check_repo_id, stage
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

pytestmark = pytest.mark.slow  # minutes in all

ROOT = Path(__file__).parents[3]
CODE = {f"{name}_glossa.py" for name in ("configuration", "generation", "layers", "loss", "modeling")}
CODE |= {f"{name}_glossa.py" for name in ("abbreviations", "batches", "clauses", "pipeline", "profile", "segments")}
CODE |= {f"{name}_glossa.py" for name in ("facts", "sentences", "spans", "steps")}
FILES = CODE | {
    "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "README.md", "metrics.json", "history.json", "versions.json", "samples.md", "curves.png", "handler.py",
    "requirements.txt",
}  # fmt: skip


LOAD = """
import json, sys
sys.modules.update(dict.fromkeys(["glossa", "datasets", "evaluate", "sacrebleu", "accelerate"]))
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline
torch.set_num_threads(1)
name, texts = sys.argv[1], json.loads(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
model = AutoModelForSeq2SeqLM.from_pretrained(name, trust_remote_code=True)
batch = tokenizer(texts, padding=True, return_tensors="pt")
print(json.dumps({
    "plain": tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True),
    "pipeline": [found["translation_text"] for found in
                 pipeline("translation", model=name, trust_remote_code=True)(texts)],
    "module": type(model).__module__.split(".")[0],
}))
"""


def assert_loads_without_glossa(hub, run, tmp_path, python):
    """The run that is pushed gives the same translations in a process without Glossa, by its name on the Hub."""
    sentences = ["a k.", "b l.", "e D."]
    environment = hub.environment(tmp_path / "elsewhere")
    process = start(["-I", "-c", LOAD, NAME, json.dumps(sentences)], environment, tmp_path, python)
    assert process.returncode == 0, process.stderr
    there = json.loads(process.stdout.splitlines()[-1])
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    assert there["module"] == "transformers_modules"
    assert there["plain"] == tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)
    assert there["pipeline"] == Translator(model, tokenizer).best(sentences)


def test_pushed_run_loads_by_name_without_glossa(early, hub, tiny_run, tmp_path):
    process = run_script(early, hub, tiny_run, tmp_path, "--publish_samples")
    assert process.returncode == 0, process.stderr
    files = hub.files(NAME)
    assert set(files) == FILES | {".gitattributes", RECORD}
    assert len(hub.repositories["models", NAME].messages) == 2  # the Hub's initial commit and the push
    assert re.search(rf"{hub.url}/{NAME}/commit/\w+", process.stdout)
    for name in CODE:
        assert files[name] == (ROOT / "modeling/glossa/model" / name).read_bytes()
    assert files["metrics.json"] == (tiny_run / "metrics.json").read_bytes()
    assert str(tiny_run).encode() not in b"".join(files.values())  # no local path
    assert_loads_without_glossa(hub, tiny_run, tmp_path, early.path / "python")


def test_pushed_run_loads_where_glossa_is_not_installed(hub, tiny_run, tmp_path, tmp_path_factory):
    stage(tiny_run, NAME, tmp_path / "folder", handler=True)
    upload(hub, tmp_path / "folder")
    assert_loads_without_glossa(hub, tiny_run, tmp_path, without_glossa(tmp_path_factory) / "python")


STAGES = [
    "GET /api/whoami-v2", "POST /api/repos/create", f"GET /api/models/{NAME}", "POST /api/validate-yaml",
    f"POST /api/models/{NAME}/preupload", f"POST /{NAME}.git/info/lfs", "PUT /lfs", "POST /lfs-verify",
    f"POST /api/models/{NAME}/commit",
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_push_changes_nothing_and_can_be_run_again(hub, folder, stage):
    with pytest.raises(GlossaError, match="Run the same command again") as refused:
        upload(hub, folder, (stage, 400))
    assert not hub.faults  # the stage was reached
    assert TOKEN not in str(refused.value)
    if ("models", NAME) in hub.repositories:
        assert set(hub.files(NAME)) == {".gitattributes"}
    upload(hub, folder)
    wanted = {path.name: path.read_bytes() for path in folder.iterdir()}
    files = hub.files(NAME)
    record = json.loads(files.pop(RECORD))
    assert files == wanted | {".gitattributes": b""} and record.keys() == wanted.keys()
    assert len(hub.repositories["models", NAME].messages) == 2


def test_upload_resumes_after_a_dropped_connection(hub, folder):
    upload(hub, folder, ("PUT /lfs", "drop"))
    assert len([request for request in hub.requests if request.startswith("PUT")]) == 3  # two files, one of them twice
    assert hub.files(NAME)["model.safetensors"] == b"w" * 5000


def test_weights_sent_before_an_interruption_are_not_sent_again(hub, folder):
    with pytest.raises(GlossaError, match="made to fail with 400"):
        upload(hub, folder, (STAGES[-1], 400))
    hub.requests.clear()
    upload(hub, folder)
    assert not [request for request in hub.requests if request.startswith("PUT")]


@pytest.mark.parametrize(
    ("token", "name", "message"),
    [
        ("hf_unknown", NAME, "The Hub does not know this token"),
        ("hf_other", NAME, "This token may not write to someone/tiny-en-fr"), (TOKEN, "tiny", "give user/name"),
        (TOKEN, "some one/x", "repo_id is 'some one/x'"),
    ],
)  # fmt: skip
def test_invalid_token_or_name_is_refused(hub, folder, token, name, message):
    with pytest.raises(GlossaError, match=message) as refused:
        upload(hub, folder, name=name, token=token)
    assert token not in str(refused.value)
    assert not hub.repositories


def test_repository_of_another_user_is_refused(hub, folder):
    hub.add(NAME, {"notes.txt": b"mine"})
    with pytest.raises(GlossaError, match="may not write to someone/tiny-en-fr"):
        upload(hub, folder, token="hf_other")
    assert hub.files(NAME) == {"notes.txt": b"mine"}


def test_card_rejected_by_the_hub_is_an_error(hub, folder):
    (folder / "README.md").write_text("no metadata")
    with pytest.raises(GlossaError, match="rejected the card"):
        upload(hub, folder)


def test_script_prints_one_error_line_without_token(early, hub, tiny_run, tmp_path):
    process = run_script(early, hub, tiny_run, tmp_path, token=None)
    assert process.returncode == 1 and not hub.requests
    assert process.stderr.splitlines()[-1].startswith("error: No token. Log in")


def test_a_hub_that_is_not_there_is_an_error(folder):
    with Hub() as gone:
        pass
    with pytest.raises(GlossaError, match=rf"The Hub \({gone.url}\) does not respond"):
        upload(gone, folder)


def test_repeated_push_changes_and_sends_nothing(hub, folder):
    upload(hub, folder)
    before, hub.requests[:] = dict(hub.repositories["models", NAME].branches), []
    upload(hub, folder)
    assert hub.repositories["models", NAME].branches == before
    assert not [request for request in hub.requests if request.startswith("PUT") or "/commit/" in request]


def test_private_branch_and_pull_request(hub, folder):
    wanted = {path.name for path in folder.iterdir()} | {".gitattributes", RECORD}
    upload(hub, folder, private=True, revision="try")
    assert hub.repositories["models", NAME].private
    assert set(hub.files(NAME)) == {".gitattributes"}
    assert set(hub.files(NAME, "try")) == wanted
    info = upload(hub, folder, create_pr=True)
    assert info.pr_url == f"{hub.url}/{NAME}/discussions/1"
    assert set(hub.files(NAME)) == {".gitattributes"}
    assert set(hub.files(NAME, "refs/pr/1")) == wanted


def test_dry_run_prints_files_and_card_and_writes_nothing(early, hub, tiny_run, tmp_path):
    process = run_script(early, hub, tiny_run, tmp_path, "--dry_run", "--publish_samples", token=None)
    assert process.returncode == 0, process.stderr
    assert not [request for request in hub.requests if not request.startswith("GET")]
    assert "The repository is new" in process.stdout
    assert set(re.findall(r"^ +[\d,]+  (\S+)$", process.stdout, flags=re.M)) == FILES
    assert "# tiny-en-fr" in process.stdout and "model-index:" in process.stdout


def test_folder_that_does_not_translate_is_refused(tiny_run, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in tiny_run.iterdir():
        if path.is_file():
            (broken / path.name).write_bytes(path.read_bytes())
    (broken / "pipeline_glossa.py").write_text("raise RuntimeError('broken')\n")
    with pytest.raises(GlossaError, match=r"does not load and translate in a new process: RuntimeError: broken"):
        check(broken, tiny_run)


def test_a_student_needs_the_license_of_its_teacher(tiny_run, tmp_path):
    run = shutil.copytree(tiny_run, tmp_path / "student")
    report = json.loads((run / "data_report.json").read_text())
    teachers = [{"name": "org/large", "license": None, "own": False}, {"name": "r", "license": None, "own": True}]
    (run / "data_report.json").write_text(json.dumps(report | {"teachers": teachers}))
    refused(r"org/large, and its license is not recorded", stage, run, NAME, tmp_path / "without")
    teachers[0]["license"] = "apache-2.0"
    (run / "data_report.json").write_text(json.dumps(report | {"teachers": teachers}))
    (tmp_path / "with").mkdir()
    stage(run, NAME, tmp_path / "with")
    card = (tmp_path / "with" / "README.md").read_text()
    assert "Training pairs were translated by org/large (license: apache-2.0).\n" in card


def test_folder_without_weights_is_refused(early, hub, tmp_path):
    (tmp_path / "run").mkdir()
    process = run_script(early, hub, tmp_path / "run", tmp_path)
    assert process.returncode == 1 and "has no weights" in process.stderr
    assert hub.requests == ["GET /api/whoami-v2"]
    process = run_script(early, hub, tmp_path / "nothing", tmp_path)
    assert process.returncode == 1 and "Traceback" not in process.stderr


def test_repository_names_are_checked():
    for name in ("a/b/c", "a", "-a/b", ""):
        with pytest.raises(GlossaError, match="repo_id is"):
            check_repo_id(name)
    check_repo_id("user/name.with-all_kinds")
