"""Translations of an older version of a file, by key: they stay, and the document has places for new keys only."""

from bisect import bisect_right
from collections.abc import Mapping

from ....base.errors import GlossaError
from ..places import Document, Edit

SHOWN = 5  # keys in a note
Spans = dict[str, tuple[int, int]]  # the characters of each value, by its key


def keep_translations(document: Document, name: str, own: Spans, old: str, theirs: Spans) -> None:
    """Write the values of the translated file `old` into a document, in the place of those with the same key.

    A note says how many keys stay and are new, and which ones are gone.

    Raises:
        GlossaError: If the files have no key in common.
    """
    kept = sorted(span for key, span in own.items() if key in theirs)
    if theirs and not kept:
        raise GlossaError(f"{name}: --update has none of the keys of this file. Give its older translation.")
    starts = [start for start, _ in kept]

    def stays(start: int) -> bool:
        index = bisect_right(starts, start) - 1
        return index >= 0 and start < kept[index][1]

    document.places = [place for place in document.places if not stays(place.start)]
    document.edits += [Edit(*own[key], [old[slice(*theirs[key])]]) for key in own if key in theirs]
    _keep_forms(document, old, theirs)
    gone = [key for key in theirs if key not in own and key not in document.forms]
    names = ", ".join(gone[:SHOWN]) + (", ..." if len(gone) > SHOWN else "")
    document.notes.append(
        f"{name}: {len(kept):,} keys stay, {len(own) - len(kept):,} are new, {len(gone):,} are gone"
        f"{': ' if gone else ''}{names}."
    )


def _keep_forms(document: Document, old: str, theirs: Mapping[str, tuple[int, int]]) -> None:
    """Write the plural forms of the translated file in the place of copies of the general form."""
    for key, edit in document.forms.items():
        if key in theirs:
            document.edits.remove(edit)
            document.edits.append(edit._replace(written=[edit.written[0], old[slice(*theirs[key])]]))
