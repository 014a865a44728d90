"""The changes of a push to an existing repository, where files that Glossa did not write are kept by default."""

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
RECORD = "glossa_files.json"  # in the repository: the files that Glossa has written, with their hashes
CODE = "modeling_glossa.py"  # a repository with it and without a record is from an earlier version
# Files of an earlier push that a new push deletes, outside of folders: other weights, and pickles.
STALE = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.safetensors", "*.safetensors.index.json")
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"  # the first is loaded if both are there


@dataclass(frozen=True)
class There:
    """The state of a repository before a push.

    Attributes:
        exists: Whether there is one.
        private: Whether it is private.
        commit: The last commit, of the branch that is pushed to or will be made.
        files: The hashes of each file: of git, and SHA-256 if it is in LFS.
        own: The files that are unchanged since Glossa wrote them.
    """

    exists: bool = False
    private: bool = False
    commit: str | None = None
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Changes:
    """The names of files that a push adds, replaces, deletes, keeps though they are stale, or needs permission for."""

    added: list[str]
    replaced: list[str]
    deleted: list[str]
    kept: list[str]
    foreign: list[str]

    def text(self) -> str:
        """What happens to each existing file, one line each."""
        lines = [f"replaced: {name}" for name in self.replaced] + [f"deleted: {name}" for name in self.deleted]
        lines += [f"kept, since Glossa did not write it: {name}" for name in self.kept]
        lines += [f"needs --replace, since Glossa did not write it: {name}" for name in self.foreign]
        if CARD in self.kept:
            lines.append(f"--replace_card replaces {CARD}.")
        return "\n".join(lines)


def look(api: HfApi, repo_id: str, repo_type: str = "model", revision: str | None = None) -> There:
    """Read the state of a repository. Raises the client's errors if the Hub does not answer."""
    try:
        info = api.repo_info(repo_id, repo_type=repo_type, revision=revision)
    except RevisionNotFoundError:  # a branch that the push will create from the main one
        info = api.repo_info(repo_id, repo_type=repo_type)
    except RepositoryNotFoundError:
        return There()
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
    return There(True, bool(info.private), info.sha, files, frozenset(own))


def _read_record(file: Path) -> dict[str, list[str]]:
    try:
        return {str(name): list(hashes) for name, hashes in json.loads(file.read_text(encoding="utf-8")).items()}
    except (AttributeError, TypeError, ValueError):  # somebody has changed it: nothing in it counts
        return {}


def changes(folder: Path, there: There, replace: bool = False, replace_card: bool = False) -> Changes:
    """Plan a push of `folder`. `replace` allows replacing files that Glossa did not write, `replace_card` a card."""
    files = _files(folder)
    both = [name for name in files if name in there.files and name != RECORD]
    same = {name for name in both if set(there.files[name]) & set(_hashes(files[name]))}
    strange = [name for name in both if name not in there.own | same]
    card = [CARD] if CARD in strange and not replace_card else []
    foreign = [name for name in strange if name != CARD]
    others = [name for name in there.files if "/" not in name and name not in files]
    stale = [name for name in others if any(fnmatch(name, pattern) for pattern in STALE)]
    deleted = [name for name in stale if name in there.own]
    clash = [WEIGHTS] if SHARDS in files and WEIGHTS in stale and WEIGHTS not in deleted else []
    if replace:
        deleted, foreign = deleted + clash, []
    else:
        foreign += clash
    replaced = [name for name in both if name not in {*same, *card, *foreign}]
    kept = card + [name for name in stale if name not in {*deleted, *foreign}]
    added = [name for name in files if name not in both]
    return Changes(added, sorted(replaced), sorted(deleted), sorted(kept), sorted(foreign))


def operations(folder: Path, there: There, planned: Changes) -> list[CommitOperation]:
    """The operations of a push, with the new record. Raises `GlossaError` if something needs permission."""
    if planned.foreign:
        raise GlossaError(
            f"The repository has files that Glossa did not write and that this push would replace: "
            f"{', '.join(planned.foreign)}. Give another --repo_id, or --replace to replace them (the history of the "
            "repository keeps them)."
        )
    files = {name: path for name, path in _files(folder).items() if name not in planned.kept}
    written = {name: list(hashes) for name, hashes in there.files.items() if name in there.own}
    written |= {name: list(_hashes(path)) for name, path in files.items()}
    record = {name: written[name] for name in sorted(written) if name not in {*planned.deleted, RECORD}}
    text = json.dumps(record, indent=2) + "\n"
    adds: list[CommitOperation] = [CommitOperationAdd(name, path) for name, path in files.items() if name != RECORD]
    adds.append(CommitOperationAdd(RECORD, text.encode()))
    return adds + [CommitOperationDelete(name, is_folder=False) for name in planned.deleted]


def refuse_public(repo_id: str, there: There) -> None:
    """Raise `GlossaError` if the repository is public: a push does not hide what others can already read."""
    if there.exists and not there.private:
        raise GlossaError(
            f"{repo_id} is public, and --private does not change it. Nothing was pushed. Make it private in its "
            "settings on the Hub first, give another --repo_id, or leave --private out."
        )


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _hashes(path: Path) -> tuple[str, str]:
    """The hash of git for a file outside of LFS, and its SHA-256."""
    git, plain = hashlib.sha1(b"blob %d\0" % path.stat().st_size), hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            git.update(block)
            plain.update(block)
    return git.hexdigest(), plain.hexdigest()
