"""XLIFF 1.2 and 2.0: units without a finished translation get one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ....translate.interface import UsedMatch
from ....translate.texts.tags import Part
from ..places import Document, Edit, Recalled
from .encoding import XML
from .format import FUZZY, UNTRANSLATED, Bilingual, Format, LanguagePair, TextPair
from .language import check_target, note_source
from .tokens import Cutter, escape_xml
from .units import Units, local
from .xliff_states import NO_TEXTS, OWN_STATES, SECOND, Length, OwnState, forbids_translation, longest, own_state

_UNFINISHED = ("new", "needs-translation", "initial")
_DONE = ("reviewed", "final")  # of version 2, whatever the subState
_PAIR = re.compile(r"\{(?P<open>\w+)>|<(?P<close>\w+)\}")  # codes in texts of Phrase's files: {b>bold<b}
MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"


@dataclass
class UnitMatches:
    """The matches of a memory for the places of a unit so far.

    Attributes:
        matches: The matches, without duplicates.
        copied: Whether all translations are copies.
        doubtful: Whether people should look at a translation.
    """

    matches: list[UsedMatch] = field(default_factory=list)
    copied: bool = True
    doubtful: bool = False

    @property
    def shown(self) -> list[UsedMatch]:
        return [match for match in self.matches if match.source]

    def add(self, new: Recalled) -> None:
        self.matches += [match for match in dict.fromkeys(new.matches) if match not in self.matches]
        self.copied, self.doubtful = self.copied and new.copied, self.doubtful or new.doubtful


def read(text: str, name: str, languages: LanguagePair, only: Sequence[str] = (UNTRANSLATED,)) -> Document:
    """The units without a finished translation, or with one that needs review, as in `only`.

    Raises `GlossaError` if the file is not XLIFF.
    """
    return _Reader(text, name, languages, only).read()


def read_pairs(text: str, name: str, languages: LanguagePair) -> Bilingual:
    """The units that may be translated; of segmented units, each segment. Raises `GlossaError` if it is not XLIFF."""
    return _Reader(text, name, languages).pairs()


_ENDINGS = (".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".mxliff")
FORMATS = (Format("xliff", _ENDINGS, read, XML, chosen_by="only", pairs=read_pairs),)


class _Reader(Units):
    def __init__(self, text: str, name: str, languages: LanguagePair, only: Sequence[str] = (UNTRANSLATED,)):
        super().__init__(text, name, "xliff")
        self.only = only
        self.languages = languages
        self.lengths: dict[int, Length] = {}  # of units
        self.matched: dict[int, dict[int, str]] = {}  # the matches of a unit, by segment

        root = self.given(self.tokens.index(self.root))
        self.second = root.get("version", "1.2").startswith("2")
        self.of_phrase = "xmlns:m" in root

    def read(self) -> Document:
        self._languages(self.tokens.index(self.root), self.second)
        left = 0
        for index, around in self._open_units():
            if self._is_text(around if self.second else index):
                self._unit(index, around, self.second)
            else:
                left += 1
        if left:
            what = "by their restype no text, or by their note not to be translated"
            self.document.notes.append(f"{self.name}: {left:,} texts are left alone: they are {what}.")
        return self.document

    def pairs(self) -> Bilingual:
        found = []
        for index, around in self._open_units():
            own, theirs = self.child(index, "source"), self.child(index, "target")
            given = self.given(index)
            if not self._is_text(around if self.second else index):
                continue
            state = self.given(index if self.second or theirs is None else theirs).get("state", "")
            unfinished = state if state in _UNFINISHED or state.startswith("needs-") else own_state(given)[1]
            unfinished = "not approved" if given.get("approved") == "no" and not unfinished else unfinished
            segments, filled = (self._segments(each) for each in (self.child(index, "seg-source"), theirs))
            sides = [(each, segments[each], filled[each]) for each in filled if each in segments]
            states = {each: own_state(self.given(token))[1] for each, token in self._segment_states(index).items()}
            line, most = (
                self.line_number(self.tokens[index].start),
                longest(self.given(around) if self.second else given),
            )
            found += [
                TextPair(line, self.shown(one), self.shown(two), None, states.get(each) or unfinished, most=most)
                for each, one, two in sides or [("", own, theirs)]
            ]
        root = self.tokens.index(self.root)
        given = self.given(root if self.second else (self.child(root, "file") or root))
        names = ("srclang", "trglang") if self.second else ("source-language", "target-language")
        source, target = (given.get(name) for name in names)
        languages = LanguagePair(self.languages.source or source, self.languages.target or target)
        return Bilingual(languages, found)

    def _open_units(self) -> Iterator[tuple[int, int]]:
        """The units of XLIFF 1.2 or segments of XLIFF 2 that may be translated, with the unit around the segments."""
        unit_name = "segment" if self.second else "trans-unit"
        around = 0  # the unit of XLIFF 2 around the segments
        closed: list[bool] = []  # whether each open element must not be translated
        for index, token in enumerate(self.tokens):
            if token.kind == "open":
                wanted = self.given(index).get("translate")
                closed.append((closed[-1] if closed else False) if wanted is None else wanted == "no")
                around = index if local(token) == "unit" else around
                if local(token) == unit_name and not closed[-1]:
                    yield index, around
            elif token.kind == "close" and closed:
                closed.pop()

    def _languages(self, root: int, second: bool) -> None:
        """Check the languages of the file, and add the target language, which XLIFF 2 requires."""
        files = [root] if second else self.children(root, "file")
        names = ("srclang", "trglang") if second else ("source-language", "target-language")
        for index in files:
            given = self.given(index)
            targets = [each for each in self._all_inside(index) if local(self.tokens[each]) == "target"]
            empty = not any(self.content(each).strip() for each in targets)
            note_source(self.document, self.name, given.get(names[0], ""), self.languages)
            target = (self.languages.target or "").replace("_", "-")
            if check_target(self.name, given.get(names[1], ""), self.languages, empty):
                name = "trgLang" if second else names[1]
                self.document.edits.append(self.edit_of(index, {name: target}))

    def _unit(self, index: int, around: int, second: bool) -> None:
        source, target = self.child(index, "source"), self.child(index, "target")
        if source is None or self.tokens[source].kind != "open" or self._is_locked(index):
            return
        state = self.given(index if second else source if target is None else target).get("state")
        has_text = target is not None and bool(self.content(target).strip())
        named, fuzzy = own_state(self.given(index))
        unsure = bool(fuzzy) or ((state or "").startswith("needs-") and state not in _UNFINISHED)
        unsure = unsure or (second and "substate" in self.given(index) and state not in _DONE)
        found = FUZZY if has_text and unsure else UNTRANSLATED if not has_text or state in _UNFINISHED else ""
        finished = found not in self.only
        own, theirs = ({} if second else self._segments(each) for each in (self.child(index, "seg-source"), target))
        locked = {self.given(each).get("id") for each in self._all_inside(index) if self._is_locked(each)}
        own = {number: each for number, each in own.items() if number not in locked}
        segments = {number: each for number, each in self._segment_states(index).items() if number not in locked}
        if theirs:
            assert target is not None
            self._fill_segments(own, theirs, finished, segments, target)
        elif not finished:
            new = SECOND if second else named
            states = [*([(index, new)] if new else []), *((each, OWN_STATES["conf"]) for each in segments.values())]
            self._fill_target(index, around, list(own.values()), states)

    def _fill_target(self, index: int, around: int, own: list[int], states: list[tuple[int, OwnState]]) -> None:
        """Translate a unit or segment as a whole.

        Args:
            index: The unit or segment.
            around: The unit around a segment of XLIFF 2.
            own: The segments of its source in XLIFF 1.2, if it has some.
            states: The elements that have its state in attributes of their own.
        """
        second, prefix = self.second, self.tokens[index].name[: -len(local(self.tokens[index]))]
        source, target = self.child(index, "source"), self.child(index, "target")
        assert source is not None  # or there is nothing to translate
        wanted = {} if second else {"state": "translated", "state-qualifier": "mt-suggestion"}
        doubtful = {} if second else wanted | {"state": "needs-review-translation"}
        if target is None:
            after = self._after(index, source)
            space = self.space_before(source)
            opened, other = (f"{space}{_tag(prefix + 'target', given)}" for given in (wanted, doubtful))
            span = (after, after)
        else:
            opened, other = (self.with_attributes(target, given).replace("/>", ">") for given in (wanted, doubtful))
            span = self.whole(target)
        first = len(self.document.places)
        source = (self.child(index, "seg-source") if own else None) or source
        doubt = [self.edit_of(each, state.review) for each, state in states]
        if not self.fill(source, span, opened, f"</{prefix}target>", other, doubt, own):
            return
        self.document.edits += [self.edit_of(each, state.translated) for each, state in states]
        if second:
            matched: Callable[..., list[Edit]] = partial(self._in_unit, UnitMatches(), index, around, prefix)
        else:
            matched = partial(self._in_target, UnitMatches(), source, span, prefix, (opened, other))
        most = longest(self.given(around if second else index))
        check = self.lengths.setdefault(around if second else index, Length(most)) if most else None
        for place in self.document.places[first:]:
            place.review = replace(place.review, matched=matched)
            place.writing = replace(place.writing, check=check) if check else place.writing

    def text_parts(self, start: int, end: int) -> list[Part]:
        """The parts of a text, in which codes of Phrase are tags."""
        parts = super().text_parts(start, end)
        shown = "".join(part.text if part.kind == "text" else "\ufffc" for part in parts) if self.of_phrase else ""
        cutter, done = Cutter(parts), list[Part]()
        for found in _PAIR.finditer(shown):
            done += cutter.up_to(found.start())
            own = list(cutter.up_to(found.end()))
            kind = "open" if found["open"] else "close"
            done.append(Part(kind, own[0].start, own[-1].end, "", f"code {found[kind]}"))
        return [*done, *cutter.up_to(len(shown))] if done else parts

    def _is_text(self, unit: int) -> bool:
        """Whether neither the kind of a unit nor a note says that it is not to be translated."""
        around = self.child(unit, "notes") or unit
        notes = [self.content(each) for each in self.children(around, "note")]
        return self.given(unit).get("restype") not in NO_TEXTS and not any(map(forbids_translation, notes))

    def _is_locked(self, index: int) -> bool:
        """Whether another program has locked a unit or segment, as memoQ, Phrase and Trados can."""
        return any(
            name.rpartition(":")[2] == "locked" and value in ("locked", "true")
            for name, value in self.given(index).items()
        )

    def _all_inside(self, index: int) -> list[int]:
        """All elements inside an element."""
        return [each for each in range(index + 1, self.ends[index]) if self.tokens[each].kind in ("open", "empty")]

    def _segments(self, index: int | None) -> dict[str, int]:
        """The segments inside an element of XLIFF 1.2 by their numbers."""
        marks = (
            [each for each in self._all_inside(index) if local(self.tokens[each]) == "mrk"]
            if index is not None
            else []
        )
        given = ((self.given(each), each) for each in marks)
        return {mark.get("mid", ""): each for mark, each in given if mark.get("mtype") == "seg"}

    def _segment_states(self, index: int) -> dict[str, int]:
        """The elements in which Trados keeps the state of each segment of a unit, by the numbers of segments."""
        inside = [each for each in self._all_inside(index) if local(self.tokens[each]) == "seg"]
        return {self.given(each).get("id", ""): each for each in inside}

    def _fill_segments(
        self, own: dict[str, int], theirs: dict[str, int], finished: bool, states: dict[str, int], around: int
    ) -> None:
        """Fill the segments of the target `around` that are chosen by their `states`.

        Without states, these are the empty ones, or all of them if the target is not finished.
        """
        for number, target in theirs.items():
            source, state = own.get(number), states.get(number)
            has_text = bool(self.content(target).strip())
            if state is not None:
                fuzzy = has_text and own_state(self.given(state))[1]
                stays = (UNTRANSLATED if not has_text else FUZZY if fuzzy else "") not in self.only
            else:
                stays = finished and has_text
            if source is None or stays:
                continue
            opened = self.with_attributes(target, {}).removesuffix("/>").rstrip().removesuffix(">")
            span, closed = self.whole(target), f"</{self.tokens[target].name}>"
            doubt = [] if state is None else [self.edit_of(state, OWN_STATES["conf"].review)]
            first = len(self.document.places)
            if self.fill(source, span, f"{opened}>", closed, doubt=doubt) and state is not None:
                self.document.edits.append(self.edit_of(state, OWN_STATES["conf"].translated))
            matched = partial(self._after_target, UnitMatches(), source, number, around)
            for place in self.document.places[first:]:
                place.review = replace(place.review, matched=matched)

    def _after_target(self, found: UnitMatches, source: int, number: str, target: int, new: Recalled) -> list[Edit]:
        """The edits of a unit of XLIFF 1.2 with segments: the matches of all segments so far, after its target."""
        found.add(new)
        of_unit, end = self.matched.setdefault(target, {}), self.tokens[self.ends[target]]
        prefix = self.tokens[target].name[: -len(local(self.tokens[target]))]
        of_unit[source] = "".join(
            _alternatives(self.space_before(target), prefix, found.shown, f' mid="{escape_xml(number)}"')
        )
        return (
            [Edit(end.start, end.end, [self.text[end.start : end.end], *of_unit.values()])]
            if any(of_unit.values())
            else []
        )

    def _in_target(
        self,
        found: UnitMatches,
        source: int,
        span: tuple[int, int],
        prefix: str,
        tags: tuple[str, str],
        new: Recalled,
    ) -> list[Edit]:
        """The edits of XLIFF 1.2: the target, with the state exact-match for a copy, and the matches after it.

        `tags` open the target: usually, and if people should look at the translation.
        """
        found.add(new)
        if not found.matches:
            return []
        opened, doubtful = tags
        if found.copied:
            opened = opened.replace("mt-suggestion", "exact-match")
        if new.taken:
            doubtful = doubtful.replace("mt-suggestion", "fuzzy-match")
        after = _alternatives(self.space_before(source), prefix, found.shown)
        start = doubtful if found.doubtful else opened
        return [Edit(*span, [start, self.inside(source), f"</{prefix}target>", *after])]

    def _in_unit(self, found: UnitMatches, segment: int, unit: int, prefix: str, new: Recalled) -> list[Edit]:
        """The edits of XLIFF 2: the matches of all segments so far, at the beginning of their unit."""
        found.add(new)
        if not found.shown or self.child(unit, "matches") is not None:
            return []  # the matches of another program stay as they are
        identifier = self.given(segment).get("id")
        edits = []
        if identifier is None:
            identifier = f"glossa-{segment}"
            given = {"id": identifier, **(SECOND.review if found.doubtful else SECOND.translated)}
            token = self.tokens[segment]
            edits.append(Edit(token.start, token.end, [self.with_attributes(segment, given)]))
        of_unit = self.matched.setdefault(unit, {})
        of_unit[segment] = "".join(
            f'<mtc:match ref="#{identifier}" matchQuality="{match.score}">{_sides(prefix, match)}</mtc:match>'
            for match in found.shown
        )
        opened, space = self.tokens[unit], self.space_before(segment)
        written = f'{space}<mtc:matches xmlns:mtc="{MATCHES}">{"".join(of_unit.values())}</mtc:matches>'
        return [*edits, Edit(opened.start, opened.end, [self.text[opened.start : opened.end], written])]

    def _after(self, index: int, source: int) -> int:
        """The character after the source, and after its segmented copy."""
        copies = self.children(index, "seg-source")
        return self.whole((copies or [source])[-1])[1]


def _alternatives(space: str, prefix: str, matches: Sequence[UsedMatch], segment: str = "") -> list[str]:
    """The elements of XLIFF 1.2 for matches; `segment` is the attribute that names the segment."""
    name = f"{prefix}alt-trans"
    return [
        f'{space}<{name} match-quality="{match.score}%"{segment}>{_sides(prefix, match)}</{name}>' for match in matches
    ]


def _sides(prefix: str, match: UsedMatch) -> str:
    both = (("source", match.source), ("target", match.target))
    return "".join(f"<{prefix}{name}>{escape_xml(text)}</{prefix}{name}>" for name, text in both)


def _tag(name: str, given: dict[str, str]) -> str:
    written = "".join(f' {key}="{value}"' for key, value in given.items())
    return f"<{name}{written}>"
