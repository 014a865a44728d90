"""Translations of an older version of a file, by key: they stay, and the document has places for new keys only."""

from bisect import bisect_right
from collections.abc import Iterator

from ....base.errors import GlossaError
from ....base.identification import identifier
from ....base.languages import language_code, language_name, same_language
from ..places import Document, Edit

SHOWN = 5  # keys in a note
SURE, LETTERS = 0.95, 60  # the probability that old values are of another language, and their letters, to say so
Spans = dict[str, tuple[int, int]]  # the characters of each value, by its key


def keep_translations(
    document: Document,
    name: str,
    own: Spans,
    old: tuple[str, Spans],
    previous: tuple[str, Spans] | None = None,
    language: str | None = None,
) -> None:
    """Write the values of a translated file into a document, in the place of those with the same key.

    Notes say how many keys stay and are new, which ones are gone, and whether they are in another language.

    Args:
        document: The new file.
        name: Its name, for notes.
        own: Its values.
        old: The text of the translated file, and its values.
        previous: The same of the source of the translated file, if it is given. Values that have changed since are
            translated again, and counted.
        language: The code of the target language, if known.

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
    both = [(span, theirs[key]) for key, span in staying.items()]
    document.notes += _doubts(name, document.text, text, both, language)
    gone = [key for key in theirs if key not in own and key not in document.forms]
    _keep_forms(document, text, theirs, {own[key] for key in changed})
    names = ", ".join(gone[:SHOWN]) + (", ..." if len(gone) > SHOWN else "")
    again = f"{len(changed):,} have another source and are translated again, " if previous else ""
    document.notes.append(
        f"{name}: {len(kept):,} keys stay, {again}{len(own) - len(kept) - len(changed):,} are new, {len(gone):,} are "
        f"gone{': ' if gone else ''}{names}."
    )


def _doubts(
    name: str, source: str, old: str, staying: list[tuple[tuple[int, int], tuple[int, int]]], language: str | None
) -> Iterator[str]:
    """What is strange about the values that stay, given as characters of the source and of the translation."""
    both = [(source[slice(*own)], old[slice(*theirs)]) for own, theirs in staying]
    same = sum(own == theirs and any(map(str.isalpha, own)) for own, theirs in both)
    if same > len(both) / 2:
        yield f"{name}: {same:,} of {len(both):,} values of --update equal the source. Is it a translation?"
    text = "\n".join(theirs for own, theirs in both if own != theirs)
    if language and sum(map(str.isalpha, text)) >= LETTERS and language_code(language) in identifier().nb_classes:
        found, share = identifier().classify(text)
        if share >= SURE and not same_language(found, language):
            names = f"{language_name(found)}, not {language_name(language)}"
            yield f"{name}: the values of --update look like {names}. They stay as they are."


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
