"""Push a run to the Hub: collect the files, check that they load and translate, and upload them in one commit."""

import importlib.metadata
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import (
    CommitInfo,
    HfApi,
    RepoCard,
    get_token,
)
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, RepositoryNotFoundError
from huggingface_hub.utils import validate_repo_id
from packaging.requirements import Requirement

from ...base.errors import GlossaError, http_errors
from ...base.languages import language_name
from ...base.run_folder import DATA_REPORT, RunFolder
from ...translate.loading import load_model, load_tokenizer
from .card import PICTURE, build_card, snippet
from .changes import Destination, changes, operations, read_remote, refuse_public
from .facts import Run, naming_damage
from .space import EXTRAS, keep_header

logger = logging.getLogger(__name__)

NO_TOKEN = "No token. Log in with `hf auth login`, or set HF_TOKEN to a token with write permission."

_HTTP_ERRORS = http_errors()
_PUSH_ERRORS: tuple[type[Exception], ...] = (HfHubHTTPError, OSError, RuntimeError, ValueError, *_HTTP_ERRORS)

CHECK = """
import json, sys
sys.modules["glossa"] = None  # users of the Hub may not have the package
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline
folder, text = sys.argv[1:]
AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
translate = pipeline("translation", model=folder, trust_remote_code=True, device="cpu")
languages = getattr(translate.model.config, "target_languages", None) or [None]
print(json.dumps(translate(text, tgt_lang=languages[0])))
"""


def stage(
    run: Path,
    repo_id: str,
    folder: Path,
    license: str | None = None,
    handler: bool = False,
    model: Path | None = None,
    publish_samples: bool | None = None,
    space: bool = False,
) -> list[str]:
    """Write the files to push to `repo_id` into the empty `folder`; returns a line for each omitted item.

    The model of the run, or the one in the folder `model`, is loaded and saved again, so that weights, code and config
    match this version of the package. `handler` adds the handler for Inference Endpoints with its requirements, and
    `space` a picture of the page. `license`, `publish_samples` and `space` are as in [`build_card`]. Raises
    `GlossaError` if there is no model.
    """
    model = model or run
    if model.is_dir() and not any(model.glob("*.safetensors")):
        raise GlossaError(f"{model} has no weights (*.safetensors). Give the output_dir of a finished run.")
    load_model(str(model)).save_pretrained(folder)
    for file in load_tokenizer(str(model)).save_pretrained(folder):
        if (model / Path(file).name).is_file():  # keep the original, since saving records the local folder
            shutil.copyfile(model / Path(file).name, file)
    with naming_damage(run):
        facts = Run(run, model)
        _refuse_unknown_licenses(facts)
        samples = facts.may_show_samples(publish_samples)
        for measured in RunFolder(run).published(samples):
            shutil.copyfile(measured, folder / measured.name)
        if handler:
            shutil.copyfile(EXTRAS / "handler.py", folder / "handler.py")
            needed = [line for line in requirements() if re.match(r"(torch|transformers|tokenizers)\b", line)]
            (folder / "requirements.txt").write_text("".join(f"{line}\n" for line in needed))
        if space:
            from ...base.plots import draw_page

            source, *targets = (language_name(code) if code else "Text" for code in facts.sides)
            draw_page(source, ", ".join(targets), folder / PICTURE)
        build_card(run, repo_id, license, model, samples, space).save(folder / "README.md")
    left_out = [] if license else ["The card has no license. Set one with --license."]
    if not samples and (facts.samples or facts.sources()):
        left_out.append(
            "Sentences of the held-out pairs are left out, since the data is not known to be public. Publish some "
            "with --publish_samples."
        )
    return left_out


def _refuse_unknown_licenses(facts: Run) -> None:
    unknown = [each["name"] for each in facts.report.get("teachers", []) if not (each["license"] or each["own"])]
    if unknown:
        raise GlossaError(
            f"Training pairs were translated by {unknown[0]}, and its license is not recorded. If it allows such a "
            f'model, write it as "license" under "teachers" into {facts.run.path / DATA_REPORT}, or give '
            "--teacher_license to glossa distill."
        )


def check(folder: Path, run: Path) -> str:
    """Load `folder` in a new process, without Glossa and without network; returns the translation of one sentence.

    Raises `GlossaError`, with the error of the process, if it fails.
    """
    text = (Run(run).sources(1) or ["Hello."])[0]
    facts = Run(run, folder)
    code = f"{snippet(folder, str(folder.absolute()), text)}" if facts.is_foreign else CHECK
    # The process may run code of other authors, and needs no Hub token.
    environment = {name: value for name, value in os.environ.items() if "TOKEN" not in name}
    with tempfile.TemporaryDirectory() as caches:
        process = subprocess.run(
            [sys.executable, "-I", "-c", code, str(folder.absolute()), text],
            env=environment | {"HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": caches},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no error message."])[-1]
        raise GlossaError(f"The folder does not load and translate in a new process: {reason} Nothing was pushed.")
    written = (process.stdout.splitlines() or [""])[-1]
    return written if facts.is_foreign else json.loads(written)[0]["translation_text"]


def push(folder: Path, destination: Destination, message: str, api: HfApi | None = None) -> CommitInfo:
    """Push the files of `folder` in one commit; files that are already on the Hub are not sent again.

    Files that Glossa did not write are kept: a card is not replaced, and a push that would replace another file is
    refused. The commit is the last step, and nothing in the repository changes before it, so a failed push is safe.

    Args:
        folder: The folder to push.
        destination: The repository, and what may be replaced there.
        message: The commit message.
        api: The Hub client. By default it uses the token of the environment or of the login.

    Raises:
        GlossaError: if the push fails, with the reason and advice.
    """
    repo_id, repo_type, revision = destination.repo_id, destination.repo_type, destination.revision
    check_repo_id(repo_id)
    api = api or HfApi()
    if (api.token or get_token()) is None:
        raise GlossaError(NO_TOKEN)
    with hub_errors(repo_id, api.endpoint):
        api.whoami()
        remote = read_remote(api, destination)
        if not remote.exists:
            private = destination.private or None
            sdk = _space_kind(folder) if repo_type == "space" else None
            api.create_repo(repo_id, repo_type=repo_type, private=private, exist_ok=True, space_sdk=sdk)
            remote = read_remote(api, destination)
        refuse_public(destination, remote)
        if repo_type == "space":
            keep_header(api, destination, remote, folder)
        planned = changes(folder, remote, destination)
        commit = operations(folder, remote, planned)
        if planned.kept:
            logger.warning("%s", planned.text())
        if revision and not destination.create_pr:
            api.create_branch(repo_id, branch=revision, revision=remote.commit, repo_type=repo_type, exist_ok=True)
        # The commit fails if the repository has changed since it was checked.
        target: Any = {"repo_type": repo_type, "revision": revision, "parent_commit": remote.commit}
        return api.create_commit(repo_id, commit, commit_message=message, create_pr=destination.create_pr, **target)


def _space_kind(folder: Path) -> str:
    return RepoCard.load(folder / "README.md").data.sdk


def check_account(repo_id: str, token: str | None = None) -> None:
    """Raise `GlossaError` unless there is a valid token and `repo_id` is a valid name."""
    api = HfApi(token=token)
    if "/" in repo_id:
        check_repo_id(repo_id)
    if (api.token or get_token()) is None:
        raise GlossaError(NO_TOKEN)
    with hub_errors(repo_id, api.endpoint):
        api.whoami()


def requirements(*extras: str) -> list[str]:
    """The requirements of this package with these extras, as lines of a `requirements.txt`."""
    found = [Requirement(line) for line in importlib.metadata.requires("glossa-mt") or ()]
    wanted = [one for one in found if not one.marker or any(one.marker.evaluate({"extra": name}) for name in extras)]
    return sorted({f"{one.name}{_extras(one)}{one.specifier}" for one in wanted})


def _extras(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""


def preview(folder: Path, destination: Destination) -> str:
    """Describe what a push would replace, delete and keep in the repository, or why this is unknown."""
    api = HfApi()
    try:
        with hub_errors(destination.repo_id, api.endpoint):
            remote = read_remote(api, destination)
        refuse_public(destination, remote)
        if destination.repo_type == "space" and remote.exists:
            keep_header(api, destination, remote, folder)
    except GlossaError as error:
        return f"Changes to the repository: {error}"
    if not remote.exists:
        return "The repository is new, or private and not readable with this token."
    return changes(folder, remote, destination).text() or "No existing file is replaced or deleted."


def tree(folder: Path) -> str:
    """The files of `folder` with their sizes in bytes, one per line."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(f"{path.stat().st_size:>12,}  {path.relative_to(folder)}" for path in files)


def check_repo_id(repo_id: str) -> None:
    """Raise `GlossaError` unless `repo_id` is a valid "user/name"."""
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise GlossaError(f"repo_id is {repo_id!r}: {error}") from error
    if repo_id.count("/") != 1:
        raise GlossaError(f"repo_id is {repo_id!r}; give user/name.")


@contextmanager
def hub_errors(repo_id: str, endpoint: str) -> Iterator[None]:
    """Convert errors of the Hub client to a `GlossaError` with advice."""
    again = "Nothing in the repository was changed. Run the same command again."
    try:
        yield
    except _PUSH_ERRORS as error:
        # A failed upload is wrapped in another error; its cause has the reason.
        cause: BaseException = error
        while not isinstance(cause, (HfHubHTTPError, *_HTTP_ERRORS)) and cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(error, OfflineModeIsEnabled):
            message = "The client is in offline mode. Unset HF_HUB_OFFLINE."
        elif isinstance(error, ValueError) and not isinstance(error, HfHubHTTPError):
            message = f"The Hub rejected the card: {str(error).strip()}"
        elif isinstance(cause, HfHubHTTPError):
            message = _explain(cause, repo_id)
        elif isinstance(cause, (*_HTTP_ERRORS, ConnectionError)):
            message = f"The Hub ({endpoint}) does not respond: {cause or type(cause).__name__}."
        else:
            raise
        raise GlossaError(f"{message} {again}") from error


def _explain(error: HfHubHTTPError, repo_id: str) -> str:
    status = error.response.status_code if error.response is not None else None
    if isinstance(error, RepositoryNotFoundError) and status == 404:
        return f"{repo_id} is not on the Hub, or is a private repository of another user."
    if status == 401:
        return "The Hub does not know this token. Log in again with `hf auth login`, or set HF_TOKEN to a valid token."
    if status == 402:
        return (
            f"The Hub creates such a Space only for paying accounts: {error.server_message}. `--space` without a "
            "value pushes a free static page."
        )
    if status == 412:
        return f"{repo_id} was changed during the push."
    if status == 403:
        return (
            f"This token may not write to {repo_id}. Give your own repository, or a token with write permission "
            "(https://huggingface.co/settings/tokens)."
        )
    reason = error.server_message or str(error).splitlines()[0]
    return f"The Hub refused ({status}): {reason.rstrip('.')}."
