"""The changes of a push to an existing repository. Files that Glossa did not write are kept by default."""

import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import CommitOperation, CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile

from ...base.errors import GlossaError

CARD = "README.md"
RECORD = "glossa_files.json"  # file in the repository with the files written by Glossa and their hashes
CODE = "modeling_glossa.py"  # a repository that has it but no record is from an earlier version
# Top-level files of an earlier push that a new push deletes: other weights, and pickles.
STALE = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.safetensors", "*.safetensors.index.json")
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"  # the first is loaded if both exist


@dataclass(frozen=True)
class Destination:
    """A repository on the Hub, and what a push may do there.

    Attributes:
        repo_id: Its name, "user/name".
        repo_type: "model" or "space".
        revision: The branch to push to. Defaults to the main branch.
        private: Create a private repository if it does not exist. A public repository is refused.
        create_pr: Open a pull request instead of committing to the branch.
        replace: Replace files that Glossa did not write, except the card.
        replace_card: Replace a card that Glossa did not write, or that was edited since.
    """

    repo_id: str
    repo_type: str = "model"
    revision: str | None = None
    private: bool = False
    create_pr: bool = False
    replace: bool = False
    replace_card: bool = False


@dataclass(frozen=True)
class RemoteState:
    """The state of a repository before a push.

    Attributes:
        exists: Whether it exists.
        private: Whether it is private.
        commit: The last commit of the branch to push to, or from which the branch will be created.
        files: The hashes of each file: the git hash, and for LFS also SHA-256.
        own: The files unchanged since Glossa wrote them.
    """

    exists: bool = False
    private: bool = False
    commit: str | None = None
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Changes:
    """The names of files that a push adds, replaces or deletes, keeps, or may not replace without permission."""

    added: list[str]
    replaced: list[str]
    deleted: list[str]
    kept: list[str]
    foreign: list[str]

    def text(self) -> str:
        """The change of each existing file, a line each."""
        lines = [f"replaced: {name}" for name in self.replaced] + [f"deleted: {name}" for name in self.deleted]
        lines += [f"kept, since Glossa did not write it: {name}" for name in self.kept]
        lines += [f"needs --replace, since Glossa did not write it: {name}" for name in self.foreign]
        if CARD in self.kept:
            lines.append(f"--replace_card replaces {CARD}.")
        return "\n".join(lines)


def read_remote(api: HfApi, destination: Destination) -> RemoteState:
    """Read the state of a repository. Raises the client's errors if the Hub does not respond."""
    repo_id, repo_type = destination.repo_id, destination.repo_type
    try:
        info = api.repo_info(repo_id, repo_type=repo_type, revision=destination.revision)
    except RevisionNotFoundError:  # the push will create the branch from the main branch
        info = api.repo_info(repo_id, repo_type=repo_type)
    except RepositoryNotFoundError:
        return RemoteState()
    entries = api.list_repo_tree(repo_id, recursive=True, revision=info.sha, repo_type=repo_type)
    found = [entry for entry in entries if isinstance(entry, RepoFile)]
    files = {entry.path: (entry.blob_id, *([entry.lfs.sha256] if entry.lfs else [])) for entry in found}
    known: dict[str, list[str]] = {}
    if RECORD in files:
        with tempfile.TemporaryDirectory() as folder:
            record = api.hf_hub_download(repo_id, RECORD, repo_type=repo_type, revision=info.sha, cache_dir=folder)
            known = _read_record(Path(record))
    own = {name for name, hashes in files.items() if set(hashes) & set(known.get(name, ()))}
    if not known and CODE in files:
        own = {name for name in files if "/" not in name and name != CARD and not name.endswith((".bin", ".md"))}
    return RemoteState(True, bool(info.private), info.sha, files, frozenset(own))


def _read_record(file: Path) -> dict[str, list[str]]:
    try:
        return {str(name): list(hashes) for name, hashes in json.loads(file.read_text(encoding="utf-8")).items()}
    except (AttributeError, TypeError, ValueError):  # the record was edited, so ignore it
        return {}


def changes(folder: Path, remote: RemoteState, destination: Destination) -> Changes:
    """Plan a push of `folder`. The card of a Space is always replaced: `keep_header` has kept what was edited."""
    files = _files(folder)
    both = [name for name in files if name in remote.files and name != RECORD]
    same = {name for name in both if set(remote.files[name]) & set(_hashes(files[name]))}
    strange = [name for name in both if name not in remote.own | same]
    keep_card = not destination.replace_card and destination.repo_type != "space"
    card = [CARD] if CARD in strange and keep_card else []
    foreign = [name for name in strange if name != CARD]
    others = [name for name in remote.files if "/" not in name and name not in files]
    stale = [name for name in others if any(fnmatch(name, pattern) for pattern in STALE)]
    deleted = [name for name in stale if name in remote.own]
    clash = [WEIGHTS] if SHARDS in files and WEIGHTS in stale and WEIGHTS not in deleted else []
    if destination.replace:
        deleted, foreign = deleted + clash, []
    else:
        foreign += clash
    replaced = [name for name in both if name not in {*same, *card, *foreign}]
    kept = card + [name for name in stale if name not in {*deleted, *foreign}]
    added = [name for name in files if name not in both]
    return Changes(added, sorted(replaced), sorted(deleted), sorted(kept), sorted(foreign))


def operations(folder: Path, remote: RemoteState, planned: Changes) -> list[CommitOperation]:
    """The operations of a push, with the new record. Raises `GlossaError` for files that may not be replaced."""
    if planned.foreign:
        raise GlossaError(
            f"This push would replace files that Glossa did not write: {', '.join(planned.foreign)}. Give another "
            "--repo_id, or --replace to replace them (they stay in the history of the repository)."
        )
    files = {name: path for name, path in _files(folder).items() if name not in planned.kept}
    written = {name: list(hashes) for name, hashes in remote.files.items() if name in remote.own}
    written |= {name: list(_hashes(path)) for name, path in files.items()}
    record = {name: written[name] for name in sorted(written) if name not in {*planned.deleted, RECORD}}
    text = json.dumps(record, indent=2) + "\n"
    adds: list[CommitOperation] = [CommitOperationAdd(name, path) for name, path in files.items() if name != RECORD]
    adds.append(CommitOperationAdd(RECORD, text.encode()))
    return adds + [CommitOperationDelete(name, is_folder=False) for name in planned.deleted]


def refuse_public(destination: Destination, remote: RemoteState) -> None:
    """Raise `GlossaError` if a public repository is to be private, since a push would not make it so."""
    if destination.private and remote.exists and not remote.private:
        raise GlossaError(
            f"{destination.repo_id} is public, and --private does not change it. Nothing was pushed. Make it "
            "private in its settings on the Hub first, give another --repo_id, or leave --private out."
        )


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _hashes(path: Path) -> tuple[str, str]:
    """The git hash of a file outside of LFS, and its SHA-256."""
    git, plain = hashlib.sha1(b"blob %d\0" % path.stat().st_size), hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            git.update(block)
            plain.update(block)
    return git.hexdigest(), plain.hexdigest()
