"""A small local Hub for the real `huggingface_hub` client: repositories, commits, LFS, downloads.

    with Hub(users={"token": "someone"}) as hub:
        environment = hub.environment(home, "token")  # for a new process: the client reads it when imported

Everything is in memory. `hub.requests` lists all requests. `hub.faults` lists requests that will fail once:
`hub.faults.append(("PUT /lfs", "drop"))` interrupts the first upload; a number is the status of the response.
"""

import base64
import hashlib
import json
import mimetypes
import os
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

LFS_SUFFIXES = (".safetensors", ".png", ".parquet", ".gz", ".bin")
KINDS = {"models": "", "datasets": "datasets/", "spaces": "spaces/"}
DATE = "2026-01-01T00:00:00.000Z"
BRANCH = "main"


@dataclass
class Repository:
    """A repository. Branches point to commits; a commit has all files as `{path: content}`."""

    private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, files: dict[str, bytes], message: str, parent: str | None = None) -> str:
        state = repr((parent, message, sorted((path, hashlib.sha1(data).digest()) for path, data in files.items())))
        sha = hashlib.sha1(state.encode()).hexdigest()
        self.commits[sha], self.branches[branch] = dict(files), sha
        self.messages.append(message)
        return sha

    def files(self, revision: str) -> dict[str, bytes] | None:
        return self.commits.get(self.branches.get(revision, revision))


class Hub:
    """The server; `users` maps tokens to user names, and users may write only under their name.

    Only the users in `paying` may make Spaces with programs of their own.
    """

    def __init__(self, users: dict[str, str] | None = None):
        self.users = users or {}
        self.paying: set[str] = set()
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.lfs: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.faults: list[tuple[str, int | str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "Hub":
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error) -> None:
        self.server.shutdown()
        self.server.server_close()

    def environment(self, home, token: str | None = None) -> dict[str, str]:
        """The environment of a process that uses this Hub, with its caches in `home`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
        kept |= {"HF_ENDPOINT": self.url, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}
        kept |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        return kept | ({"HF_TOKEN": token} if token else {})

    def add(self, name: str, files: dict[str, bytes], kind: str = "models", private: bool = False) -> Repository:
        repository = self.repositories[kind, name] = Repository(private)
        repository.commit(BRANCH, files, "initial commit")
        return repository

    def files(self, name: str, revision: str = BRANCH, kind: str = "models") -> dict[str, bytes]:
        return self.repositories[kind, name].files(revision) or {}


class Refusal(Exception):
    """An error response: status, error code of the Hub, message."""


class Handler(BaseHTTPRequestHandler):
    """Handles one request; `routes` maps requests to methods."""

    protocol_version = "HTTP/1.1"
    hub: Hub
    routes = [
        ("GET /api/whoami-v2", "whoami"),
        ("POST /api/validate-yaml", "validate"),
        ("POST /api/repos/create", "create"),
        (r"PUT /lfs/(?P<oid>\w+)", "upload"),
        (r"POST /lfs-verify", "verify"),
        (r"POST /(?P<prefix>datasets/|spaces/|)(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/batch", "batch"),
        (r"POST /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/preupload/(?P<revision>[^/]+)", "preupload"),
        (r"POST /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/commit/(?P<revision>[^/]+)", "commit"),
        (r"POST /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/branch/(?P<revision>.+)", "branch"),
        (r"POST /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/paths-info/(?P<revision>[^/]+)", "paths"),
        (r"GET /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", "tree"),
        (r"GET /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/refs", "refs"),
        (r"GET /api/(?P<kind>\w+)/(?P<name>[^/]+/[^/]+)/revision/(?P<revision>.+)", "info"),
        (r"GET /api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)", "info"),
        (r"(?:GET|HEAD) /(?P<prefix>datasets/|spaces/|)(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)",
         "resolve"),
        (r"GET /static/(?P<name>[^/]+/[^/]+)/(?P<path>.*)", "page"),
    ]  # fmt: skip

    def handle_one(self) -> None:
        url = urlsplit(self.path)
        request = f"{self.command} {url.path}"
        self.hub.requests.append(request)
        length = int(self.headers.get("Content-Length") or 0)
        fault = next((fault for fault in self.hub.faults if request.startswith(fault[0])), None)
        if fault:
            self.hub.faults.remove(fault)
            if fault[1] == "drop":  # like a lost connection: half of the body is read, no answer is sent
                self.rfile.read(length // 2)
                self.close_connection = True
                return None
        self.body, self.query = self._read_body(length), parse_qs(url.query)
        try:
            if fault:
                raise Refusal(fault[1], "", f"made to fail with {fault[1]}")
            for pattern, name in self.routes:
                if found := re.fullmatch(pattern, request):
                    values = {key: unquote(value) for key, value in found.groupdict().items() if value is not None}
                    if "prefix" in values:
                        values["kind"] = {prefix: kind for kind, prefix in KINDS.items()}[values.pop("prefix")]
                    return getattr(self, name)(**values)
            raise Refusal(404, "", f"nothing at {request}")
        except Refusal as refusal:
            status, code, message = refusal.args
            self.answer({"error": message}, status, {"X-Error-Code": code, "X-Error-Message": message})

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one

    def _read_body(self, length: int) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(length)
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, content, status: int = 200, headers: dict | None = None, length: int | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *arguments) -> None:
        pass

    # -- permissions ------------------------------------------------------------------------------------------------

    @property
    def user(self) -> str | None:
        header = self.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ")
        if header and token not in self.hub.users:
            raise Refusal(401, "", "Invalid credentials in Authorization header")
        return self.hub.users.get(token)

    def repository(self, kind: str, name: str, write: bool = False) -> Repository:
        found, user = self.hub.repositories.get((kind, name)), self.user
        if found is None or (found.private and user != name.split("/")[0]):
            # Without login, missing and private repositories give the same answer.
            raise Refusal(404 if user else 401, "RepoNotFound", "Repository not found")
        if write and user is None:
            raise Refusal(401, "", "Invalid username or password.")
        if write and user != name.split("/")[0]:
            raise Refusal(403, "", f"You don't have the right to push to {name}")
        return found

    def content(self, kind: str, name: str, revision: str) -> tuple[Repository, dict[str, bytes], str]:
        repository = self.repository(kind, name)
        files = repository.files(revision)
        if files is None:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return repository, files, repository.branches.get(revision, revision)

    def whoami(self) -> None:
        if self.user is None:
            raise Refusal(401, "", "Invalid username or password.")
        self.answer({"type": "user", "name": self.user, "orgs": [], "auth": {"accessToken": {"role": "write"}}})

    # -- writing ----------------------------------------------------------------------------------------------------

    def validate(self) -> None:
        content = json.loads(self.body)["content"]
        errors = [] if content.startswith("---\n") else [{"message": "no metadata"}]
        self.answer({"errors": errors, "warnings": []}, 400 if errors else 200)

    def create(self) -> None:
        asked = json.loads(self.body)
        if self.user is None:
            raise Refusal(401, "", "Invalid username or password.")
        owner, kind = asked.get("organization") or self.user, asked.get("type", "model") + "s"
        if owner != self.user:
            raise Refusal(403, "", f"You don't have the rights to create a {kind[:-1]} under the namespace {owner!r}")
        name = f"{owner}/{asked['name']}"
        url = f"{self.hub.url}/{KINDS[kind]}{name}"
        if (kind, name) in self.hub.repositories:
            body = {"error": "You already created this repo", "url": url}
            return self.answer(body, 409, {"X-Error-Message": body["error"]})
        if kind == "spaces" and asked.get("sdk") != "static" and owner not in self.hub.paying:
            raise Refusal(402, "", "Static Spaces are free for everyone, but hosting Docker Spaces requires PRO")
        private = asked.get("private") or asked.get("visibility") == "private"
        self.hub.add(name, {".gitattributes": b""}, kind, bool(private))
        return self.answer({"url": url, "name": name, "id": name})

    def branch(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(kind, name, write=True)
        if revision in repository.branches:
            raise Refusal(409, "", f"Reference already exists: {revision}")
        start = json.loads(self.body or b"{}").get("startingPoint", BRANCH)
        repository.branches[revision] = repository.branches.get(start, start)
        self.answer({})

    def preupload(self, kind: str, name: str, revision: str) -> None:
        files = self.repository(kind, name, write=True).files(revision)
        if files is None:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        answers = []
        for file in json.loads(self.body)["files"]:
            path = file["path"]
            mode = "lfs" if path.endswith(LFS_SUFFIXES) else "regular"
            oid = object_id(path, files[path]) if path in files else None
            answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self.answer({"files": answers})

    def batch(self, kind: str, name: str) -> None:
        self.repository(kind, name, write=True)
        objects = []
        for entry in json.loads(self.body)["objects"]:
            actions = {
                "upload": {"href": f"{self.hub.url}/lfs/{entry['oid']}", "header": {}},
                "verify": {"href": f"{self.hub.url}/lfs-verify", "header": {}},
            }
            known = entry["oid"] in self.hub.lfs
            objects.append(entry | ({} if known else {"actions": actions}))
        self.answer({"transfer": "basic", "objects": objects})

    def upload(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise Refusal(400, "", "the content does not match its checksum")
        self.hub.lfs[oid] = self.body
        self.answer(b"")

    def verify(self) -> None:
        asked = json.loads(self.body)
        if len(self.hub.lfs.get(asked["oid"], b"")) != asked["size"]:
            raise Refusal(404, "", "no such object")
        self.answer({})

    def commit(self, kind: str, name: str, revision: str) -> None:
        repository = self.repository(kind, name, write=True)
        lines = [json.loads(line) for line in self.body.splitlines()]
        expected = lines[0]["value"].get("parentCommit")
        if expected and expected != repository.branches.get(revision, revision):
            raise Refusal(412, "", "A commit has happened since. Please refresh and try again.")
        files = dict(repository.files(revision) or {})
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.hub.lfs:
                    raise Refusal(400, "", f"LFS object {value['oid']} was not uploaded")
                files[value["path"]] = self.hub.lfs[value["oid"]]
            elif line["key"] == "deletedFile":
                files.pop(value["path"])
        pull_request = f"refs/pr/{sum('pr/' in branch for branch in repository.branches) + 1}"
        target = pull_request if self.query.get("create_pr") else revision
        parent = repository.branches.get(revision)
        sha = repository.commit(target, files, lines[0]["value"]["summary"], parent)
        url = f"{self.hub.url}/{KINDS[kind]}{name}"
        number = pull_request.rsplit("/", 1)[1]
        pull_url = f"{url}/discussions/{number}" if target == pull_request else None
        self.answer({"commitUrl": f"{url}/commit/{sha}", "commitOid": sha, "pullRequestUrl": pull_url})

    # -- reading ----------------------------------------------------------------------------------------------------

    def info(self, kind: str, name: str, revision: str = BRANCH) -> None:
        repository, files, sha = self.content(kind, name, revision)
        siblings = [{"rfilename": path, "size": len(data)} for path, data in sorted(files.items())]
        self.answer(
            {"_id": sha[:24], "id": name, "sha": sha, "private": repository.private, "siblings": siblings}
            | {"tags": [], "downloads": 0, "likes": 0, "gated": False, "disabled": False}
            | {"lastModified": DATE, "createdAt": DATE, "author": name.split("/")[0]}
            | ({"pipeline_tag": "translation", "library_name": "transformers"} if kind == "models" else {})
        )

    def refs(self, kind: str, name: str) -> None:
        branches = self.repository(kind, name).branches.items()
        entries = [{"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": sha} for branch, sha in branches]
        self.answer({"branches": entries, "tags": [], "converts": [], "pullRequests": []})

    def tree(self, kind: str, name: str, revision: str, path: str = "") -> None:
        _, files, _ = self.content(kind, name, revision)
        entries = entries_under(files, path, "true" in [v.lower() for v in self.query.get("recursive", [])])
        if path and not entries:
            raise Refusal(404, "EntryNotFound", f"no {path}")
        self.answer(entries)

    def paths(self, kind: str, name: str, revision: str) -> None:
        _, files, _ = self.content(kind, name, revision)
        try:
            asked = json.loads(self.body)["paths"]
        except ValueError:
            asked = parse_qs(self.body.decode())["paths"]
        everything = {entry["path"]: entry for entry in entries_under(files, "", recursive=True)}
        self.answer([everything[path] for path in asked if path in everything])

    def resolve(self, kind: str, name: str, revision: str, path: str) -> None:
        _, files, sha = self.content(kind, name, revision)
        if path not in files:
            message = f"{path} is not in {revision}"
            raise Refusal(404, "EntryNotFound", message)
        data, first = files[path], 0
        headers = {"X-Repo-Commit": sha, "ETag": f'"{object_id(path, data)}"', "Accept-Ranges": "bytes"}
        if path.endswith(LFS_SUFFIXES):
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data))}
        if wanted := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            first = int(wanted[1]) if wanted[1] else max(len(data) - int(wanted[2]), 0)
            last = min(int(wanted[2]), len(data) - 1) if wanted[1] and wanted[2] else len(data) - 1
            if first >= len(data):
                return self.answer(b"", 416, headers | {"Content-Range": f"bytes */{len(data)}"})
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            return self.answer(data[first : last + 1], 206, headers)
        return self.answer(data, 200, headers)

    def page(self, name: str, path: str) -> None:
        """A file of a static Space, with the headers that its README asks for."""
        _, files, _ = self.content("spaces", name, BRANCH)
        header = yaml.safe_load(files["README.md"].decode().split("---")[1])
        path = path or "index.html"
        if header["sdk"] != "static" or path not in files:
            raise Refusal(404, "EntryNotFound", f"{path} is not shown")
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        kind = "text/javascript" if path.endswith(".mjs") else kind
        self.answer(files[path], 200, {"Content-Type": kind} | header.get("custom_headers", {}))


def object_id(path: str, data: bytes) -> str:
    """The SHA-256 of an LFS file, the git SHA-1 of any other file."""
    if path.endswith(LFS_SUFFIXES):
        return hashlib.sha256(data).hexdigest()
    return git_id(data)


def git_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def entries_under(files: dict[str, bytes], folder: str, recursive: bool) -> list[dict]:
    """Files and folders in `folder`, in the format of the Hub."""
    prefix, entries = f"{folder}/" if folder else "", {}
    for path, data in sorted(files.items()):
        if not path.startswith(prefix):
            continue
        parents = [path[: match.start()] for match in re.finditer("/", path) if match.start() > len(prefix)]
        for parent in parents if recursive else parents[:1]:
            oid = hashlib.sha1(parent.encode()).hexdigest()
            entries[parent] = {"type": "directory", "oid": oid, "size": 0, "path": parent}
        if recursive or not parents:
            entry = {"type": "file", "oid": git_id(data), "size": len(data), "path": path}
            if path.endswith(LFS_SUFFIXES):
                entry["lfs"] = {"oid": object_id(path, data), "size": len(data), "pointerSize": 134}
            entries[path] = entry
    return list(entries.values())
