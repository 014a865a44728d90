"""Real documents: `python -m torture.identity FOLDER ...` translates them with an engine that returns its source.

A document must come out byte for byte; of a packed one each member. Translations of formats that have a place of their
own (PO, XLIFF, TMX) are left out if that place is empty in the document. With --sample N, at most N files of a format.
"""

import argparse
import io
import json
import random
import zipfile
from pathlib import Path

from translating import KNOWN, same, translated

from glossa.documents.formats.opening import PACKED, format_of, open_document
from glossa.errors import GlossaError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sample", type=int, default=1000, metavar="N")
    arguments = parser.parse_args()
    files: dict[str, list[Path]] = {}
    for folder in arguments.folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (kind := format_of(path.name)):
                files.setdefault(kind, []).append(path)
    for kind, paths in sorted(files.items()):
        figures = {"files": 0, "texts": 0, "same": 0, "refused": 0, "to_fill": 0, "different": 0}
        for path in random.Random(1).sample(paths, min(len(paths), arguments.sample)):
            figures["files"] += 1
            outcome, texts = compare(path, kind)
            figures[outcome] += 1
            figures["texts"] += texts
            if outcome == "different":
                print(f"{path} came out different.", flush=True)
        print(json.dumps({"format": kind, **figures}), flush=True)


def compare(path: Path, kind: str) -> tuple[str, int]:
    """What became of a document, and how many texts it has."""
    try:
        places = [place for document in open_document(path, kind, KNOWN).documents for place in document.places]
        if not all(place.keep for place in places):
            return "to_fill", len(places)
        found = translated(path, same, kind)
    except GlossaError:
        return "refused", 0
    content = path.read_bytes()
    if kind in PACKED:
        return "same" if _members(found) == _members(content) else "different", len(places)
    return "same" if found == content else "different", len(places)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


if __name__ == "__main__":
    main()
