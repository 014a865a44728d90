"""Translations of an older version of a file, by key: they stay, and the document has places for new keys only."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set

from ....base.errors import GlossaError
from ....base.identification import identifier
from ....base.languages import language_code, language_name, same_language
from ..places import Document, Edit, line_numbers

SHOWN = 5  # keys in a note
SURE, LETTERS = 0.95, 60  # the probability that old values are of another language, and their letters, to say so
_NUMBER = re.compile(r"\.(\d{1,6})(?![^.])")  # the key of a list item
Spans = dict[str, tuple[int, int]]  # the characters of each value, by its key


def keep_translations(
    document: Document,
    name: str,
    own: Spans,
    old: tuple[str, Spans],
    changed: Set[str] | None = None,
    language: str | None = None,
) -> None:
    """Write the values of a translated file into a document, in the place of those with the same key.

    Notes say how many keys stay and are new, which ones are gone, and whether they are in another language.

    Args:
        document: The new file.
        name: Its name, for notes.
        own: Its values.
        old: The text of the translated file, and its values.
        changed: The keys whose values have changed since, if it is known. They are translated again, and counted.
        language: The code of the target language, if known.

    Raises:
        GlossaError: If the files have no key in common.
    """
    text, theirs = old
    empty = {key for key in own.keys() & theirs if bare(document.text[slice(*own[key])])}
    empty = {key for key in empty if not bare(text[slice(*theirs[key])])}
    theirs = {key: span for key, span in theirs.items() if key not in empty}
    if empty:
        document.notes.append(f"{name}: {len(empty):,} values of --update are empty, and are translated as new ones.")
    if theirs and own.keys().isdisjoint(theirs):
        raise GlossaError(f"{name}: --update has none of the keys of this file. Give its older translation.")
    again = (
        f"{len(changed & theirs.keys()):,} have another source and are translated again, "
        if changed is not None
        else ""
    )
    changed = changed & theirs.keys() if changed else set()
    staying = {key: span for key, span in own.items() if key in theirs and key not in changed}
    if not again and (lists := _other_lengths(own, theirs)):
        document.notes.append(
            f"{name}: {len(lists):,} lists have another length in --update, and their items stay by their numbers. If "
            f"items have moved, give --previous with the older source: {shown_keys(lists)}."
        )
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
    document.notes.append(
        f"{name}: {len(kept):,} keys stay, {again}{len(own) - len(kept) - len(changed):,} are new, {len(gone):,} are "
        f"gone{': ' if gone else ''}{shown_keys(gone)}."
    )


def _other_lengths(own: Spans, theirs: Spans) -> list[str]:
    """The keys of the lists that have another length in the translated file."""

    def lengths(keys: Spans) -> dict[str, int]:
        numbers: dict[str, set[int]] = {}
        for key in keys:
            for found in _NUMBER.finditer(key):
                numbers.setdefault(key[: found.start()], set()).add(int(found[1]))
        return {stem: len(each) for stem, each in numbers.items() if each == {*range(len(each))}}

    new, old = lengths(own), lengths(theirs)
    return [stem for stem, length in new.items() if old.get(stem, length) != length]


def shown_keys(keys: Sequence[str]) -> str:
    """The first keys, for a note."""
    return ", ".join(keys[:SHOWN]) + (", ..." if len(keys) > SHOWN else "")


def bare(value: str) -> str:
    """A value as it is written, without spaces and quotes around it."""
    value = value.strip()
    return value[1:-1].strip() if len(value) > 1 and value[0] == value[-1] in "\"'" else value


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


def changed_keys(document: Document, own: Spans, previous: Document, before: Spans) -> set[str]:
    """The keys whose text differs from the previous source, or whose value differs if it has no text."""
    texts, earlier = values_of(document, own), values_of(previous, before)
    both = [(key, span, before[key]) for key, span in own.items() if key in before]
    return {
        key
        for key, span, old in both
        if document.text[slice(*span)] != previous.text[slice(*old)]
        and (key not in texts or key not in earlier or texts[key][1].split() != earlier[key][1].split())
    }


def values_of(document: Document, spans: Spans) -> dict[str, tuple[int, str]]:
    """The line and the text with tags of each value that has words, by its key."""
    ordered, number = sorted((span, key) for key, span in spans.items()), line_numbers(document.text)
    starts, found = [start for (start, _), _ in ordered], dict[str, tuple[int, str]]()
    for place in document.places:
        (start, end), key = ordered[max(bisect_right(starts, place.start) - 1, 0)]
        if start <= place.start < end:
            parts = [
                each.text
                if each.kind == "text"
                else "\n"
                if each.kind == "break"
                else document.text[each.start : each.end]
                for each in place.parts
            ]
            before = f"{found[key][1]}\n" if key in found else ""
            found[key] = (number(start), before + "".join(parts))
    return found


def _keep_forms(document: Document, old: str, theirs: Spans, changed: set[tuple[int, int]]) -> None:
    """Write the plural forms of the translated file over copies of general forms that have not `changed`."""
    for key in [key for key, edit in document.forms.items() if key in theirs and edit.written[1] not in changed]:
        edit = document.forms.pop(key)
        document.edits.remove(edit)
        written = [edit.written[0], old[slice(*theirs[key])], *edit.written[2:]]
        document.edits.append(edit._replace(written=written))
