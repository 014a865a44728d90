"""The keys of a server, as hashes in a file."""

import hashlib
import os
import secrets
from pathlib import Path

from ...base.errors import GlossaError
from .refusals import Refused


class Keys:
    """The keys that a server accepts.

    Args:
        path: A file with a line for each key: its name and the SHA-256 of the key in hexadecimal digits.

    Raises:
        GlossaError: If the file cannot be read, has another format, or holds no key.
    """

    def __init__(self, path: Path):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise GlossaError(f"{path} cannot be read: {error}. `glossa serve --new_key NAME` creates it.") from error
        self.names: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            name, _, digest = line.rpartition(" ")
            if not name or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
                raise GlossaError(f"{path}, line {number} is not a name and a SHA-256. Remove the line.")
            self.names[digest] = name
        if not self.names:
            raise GlossaError(f"{path} holds no key. `glossa serve --new_key NAME` creates one.")

    def check(self, key: object) -> str:
        """The name of a key. Raises `Refused` for a missing or unknown key."""
        if not isinstance(key, str) or not key:
            raise Refused("api_key is missing. Ask the administrator of this server for a key.")
        # Keys are random, so comparing their hashes reveals nothing.
        name = self.names.get(digest(key))
        if name is None:
            raise Refused("api_key is not a key of this server.", 403)
        return name


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def add_key(path: Path, name: str) -> str:
    """Add a new key to the file, which only its owner may read, and return the key. The file has only its hash."""
    if not name.strip() or not name.isprintable():
        raise GlossaError(f"The name of a key is {name!r}; give a printable one.")
    key = secrets.token_urlsafe(32)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{name.strip()} {digest(key)}\n")
    except OSError as error:
        raise GlossaError(f"{path}: {error.strerror}.") from error
    return key
