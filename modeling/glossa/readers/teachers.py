"""What translated the pairs of a file, and its license: a record next to the file, which `glossa distill` writes."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError
from .manifest import MANIFEST

SUFFIX = ".teachers.json"
REPORT = "report.json"  # of a folder of `glossa prepare`
# What licenses say against students, by identifiers of the Hub: section 1.b.v of the licenses of Llama 2 and 3, which
# later ones do not have (30 November 2026), and Creative Commons' NonCommercial.
LIMITS = {
    r"llama[23]": "its output may not be used to improve other large language models (section 1.b.v)",
    r".*-nc(-.*)?": "the model is for noncommercial use only",
}


@dataclass(frozen=True)
class Teacher:
    """What translated pairs.

    Attributes:
        name: The model, with the server or the program that ran it.
        license: Its license, or None if it is not known.
        own: Whether it is a run of Glossa, which needs no license.
    """

    name: str
    license: str | None
    own: bool = False


def write_teachers(pairs: Path, teachers: Sequence[Teacher]) -> None:
    """Write the record of a file of pairs."""
    text = json.dumps([asdict(teacher) for teacher in teachers], indent=1, ensure_ascii=False)
    pairs.with_name(pairs.name + SUFFIX).write_text(f"{text}\n", encoding="utf-8")


def read_teachers(paths: Iterable[str]) -> list[dict[str, Any]]:
    """The teachers of files of pairs, and of files that `glossa prepare` made of these, each once.

    Raises `GlossaError` for a record that cannot be read.
    """
    found: dict[Teacher, None] = {}
    for path in map(Path, paths):
        is_prepared = (path.parent / MANIFEST).is_file()
        record = path.with_name(REPORT if is_prepared else path.name + SUFFIX)
        if not record.is_file():
            continue
        try:
            read = json.loads(record.read_text(encoding="utf-8"))
            entries = read.get("teachers", []) if is_prepared else read
            found |= dict.fromkeys(Teacher(**entry) for entry in entries)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise GlossaError(f"{record}, the record of the teachers of {path}, is damaged: {error}.") from error
    return [asdict(teacher) for teacher in found]


def limit_of(license: str | None) -> str:
    """What a license says against a student of the model, or ""."""
    found = (limit for names, limit in LIMITS.items() if re.fullmatch(names, license or "", re.IGNORECASE))
    return next(found, "")
