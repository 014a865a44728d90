"""Translations of an older version of a file, by key: they stay, and the document has places for new keys only."""

from bisect import bisect_right

from ....base.errors import GlossaError
from ..places import Document, Edit

SHOWN = 5  # keys in a note
Spans = dict[str, tuple[int, int]]  # the characters of each value, by its key


def keep_translations(
    document: Document, name: str, own: Spans, old: tuple[str, Spans], previous: tuple[str, Spans] | None = None
) -> None:
    """Write the values of a translated file into a document, in the place of those with the same key.

    A note says how many keys stay and are new, and which ones are gone.

    Args:
        document: The new file.
        name: Its name, for notes.
        own: Its values.
        old: The text of the translated file, and its values.
        previous: The same of the source of the translated file, if it is given. Values that have changed since are
            translated again, and counted.

    Raises:
        GlossaError: If the files have no key in common.
    """
    text, theirs = old
    if theirs and own.keys().isdisjoint(theirs):
        raise GlossaError(f"{name}: --update has none of the keys of this file. Give its older translation.")
    changed = _changed(document.text, own, *previous) & theirs.keys() if previous else set()
    staying = {key: span for key, span in own.items() if key in theirs and key not in changed}
    kept = sorted(staying.values())
    starts = [start for start, _ in kept]

    def stays(start: int) -> bool:
        index = bisect_right(starts, start) - 1
        return index >= 0 and start < kept[index][1]

    document.places = [place for place in document.places if not stays(place.start)]
    document.edits += [Edit(*span, [text[slice(*theirs[key])]]) for key, span in staying.items()]
    gone = [key for key in theirs if key not in own and key not in document.forms]
    _keep_forms(document, text, theirs, {own[key] for key in changed})
    names = ", ".join(gone[:SHOWN]) + (", ..." if len(gone) > SHOWN else "")
    again = f"{len(changed):,} have another source and are translated again, " if previous else ""
    document.notes.append(
        f"{name}: {len(kept):,} keys stay, {again}{len(own) - len(kept) - len(changed):,} are new, {len(gone):,} are "
        f"gone{': ' if gone else ''}{names}."
    )


def _changed(text: str, own: Spans, previous: str, before: Spans) -> set[str]:
    """The keys whose values are not those of the previous source."""
    return {key for key, span in own.items() if key in before and text[slice(*span)] != previous[slice(*before[key])]}


def _keep_forms(document: Document, old: str, theirs: Spans, changed: set[tuple[int, int]]) -> None:
    """Write the plural forms of the translated file over copies of general forms that have not `changed`."""
    for key in [key for key, edit in document.forms.items() if key in theirs and edit.written[1] not in changed]:
        edit = document.forms.pop(key)
        document.edits.remove(edit)
        written = [edit.written[0], old[slice(*theirs[key])], *edit.written[2:]]
        document.edits.append(edit._replace(written=written))
