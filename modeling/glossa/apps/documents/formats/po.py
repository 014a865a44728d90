"""PO catalogs of gettext: empty translations are filled."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ....base.errors import GlossaError
from ....readers.po import ESCAPE, Entry, Field, entries, field_text, flags_of, plural_forms, unescaped
from ....translate.interface import READ, UNUSED
from ....translate.texts.tags import Part
from ..places import Document, Edit, Place, Recalled, Review, line_numbers
from .encoding import Encoding
from .format import FUZZY, UNTRANSLATED, Bilingual, Format, LanguagePair, TextPair
from .language import check_target, note_added_forms, plural_rule
from .printf import Printf
from .strings import string_places
from .tokens import cut

# Flags of texts whose arguments may be numbered, and of texts whose arguments keep their order.
NUMBERED = {f"{each}-format" for each in ("c", "objc", "php", "perl", "tcl", "awk", "ruby", "gcc-internal")}
ORDERED = {"python-format", "lua-format"}
# Low lines in names, and as marks of accelerators: a catalog has only one of them.
_NAME = re.compile(r"(?<![^\W_])(?:[A-Z][A-Z\d]+_[A-Z\d]{2}|[^\W_]+_[^\W_]+_[^\W_])")
_ENCODING = Encoding(declaration=re.compile(rb"Content-Type:[^\n]*?charset=([\w.:-]+)", re.I))
_ACCELERATOR = re.compile(r"(?<![\w$/.-])_[^\W\d_]")


def read(text: str, name: str, languages: LanguagePair, only: Sequence[str] = (UNTRANSLATED,)) -> Document:
    """The entries without a translation or with a fuzzy one, as in `only`.

    The header of a template gets language, encoding and plural forms.
    Raises `GlossaError`, with the line, if the file is not a catalog, or a catalog of another language.
    """
    return _Catalog(text, name, languages, only).read()


def read_pairs(text: str, name: str, languages: LanguagePair) -> Bilingual:
    """The entries that are not obsolete; each plural form is a pair. Raises `GlossaError` if it is not a catalog."""
    pairs: list[TextPair] = []
    singular, number = 0, line_numbers(text)
    for entry in entries(text, name):
        source, forms, context = entry.fields.get("msgid"), entry.translations, entry.fields.get("msgctxt")
        if entry.is_header:
            header = field_text(text, entry.fields.get("msgstr"))
            declared = re.search(r"^Language:[ \t]*([\w@.-]+)", header, re.M)
            languages = LanguagePair(languages.source, languages.target or (declared[1] if declared else None))
            _, singular = plural_forms(header, name)
            continue
        if source is None or entry.is_obsolete:
            continue
        fuzzy = any("fuzzy" in flags_of(text[slice(*line)]) for line in entry.flags)
        for form, target in forms.items():
            one = form == -1 or (form == singular and len(forms) > 1)
            plural = entry.fields.get("msgid_plural", source)
            pairs.append(
                TextPair(
                    number(target.start), field_text(text, source if one else plural), field_text(text, target),
                    field_text(text, context) if context else None, "fuzzy" if fuzzy else "",
                    field_text(text, plural) if one and form != -1 else "",
                )
            )  # fmt: skip
    return Bilingual(languages, pairs)


FORMATS = (Format("po", (".po", ".pot"), read, _ENCODING, chosen_by="only", pairs=read_pairs),)


@dataclass
class EntryMatches:
    """The matches of a memory for an entry: comments, and the text whose translation was taken.

    Attributes:
        flag: The edit that marks the entry as fuzzy.
        start: The first character of its references and flags.
        line_end: The line end of the file.
        has_forms: Whether it has plural forms.
        comments: The comments on matches whose translations are not used.
        doubtful: Whether the entry is fuzzy.
    """

    flag: Edit
    start: int
    line_end: str
    has_forms: bool
    comments: dict[str, None] = field(default_factory=dict)
    doubtful: bool = False

    def edits(self, new: Recalled) -> list[Edit]:
        """The edits for the matches so far and those of a further text."""
        for match in new.matches:
            if match.use in (READ, UNUSED) and match.source:
                source, target = (" ".join(side.split()) for side in (match.source, match.target))
                self.comments[f"#. {match.score}%: {source} → {target}{self.line_end}"] = None
        self.doubtful = self.doubtful or new.doubtful
        flag = [*self.flag.written] if self.doubtful else []
        if new.taken and new.taken.source and not self.has_forms:
            flag.append(f'#| msgid "{_escape(new.taken.source)}"{self.line_end}')
        if self.start == self.flag.start:
            written = [*self.comments, *flag]
            return [self.flag._replace(written=written)] if written else []
        comments = [Edit(self.start, self.start, [*self.comments])] if self.comments else []
        return comments + ([self.flag._replace(written=flag)] if flag else [])


class _Catalog:
    def __init__(self, text: str, name: str, languages: LanguagePair, only: Sequence[str]):
        self.text, self.name, self.languages, self.only = text, name, languages, only
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        self.document = Document(text, [])
        self.forms, self.singular = 0, 0  # plural forms by the header: their number, or 0, and the form for 1
        self.added = 0  # plural forms that were missing
        self.accelerators = "&_"

    def read(self) -> Document:
        found = list(entries(self.text, self.name))
        has_plurals = any("msgid_plural" in entry.fields and not entry.is_obsolete for entry in found)
        sources = [field_text(self.text, entry.fields.get("msgid")) for entry in found]
        if sum(map(bool, map(_NAME.search, sources))) > sum(map(bool, map(_ACCELERATOR.search, sources))):
            self.accelerators = "&"
        self.empty = all(
            each.is_empty for entry in found if not entry.is_header for each in entry.translations.values()
        )
        for entry in found:
            source = entry.fields.get("msgid")
            if entry.is_header:
                self._header(entry, has_plurals)
            elif source is None or entry.is_obsolete:
                continue
            elif not entry.translations:
                line = self.text.count("\n", 0, source.start) + 1
                missing = "msgstr[0]" if "msgid_plural" in entry.fields else "msgstr"
                raise GlossaError(f'{self.name}, line {line}: the entry has no {missing}. Add {missing} "" to it.')
            elif FUZZY in self.only and self._is_fuzzy(entry):
                self._clear(entry)
                self._fill(entry, source, again=True)
            elif UNTRANSLATED not in self.only:
                continue
            elif all(each.is_empty for each in entry.translations.values()):
                self._fill(entry, source)
            elif -1 not in entry.translations:
                self._fill(entry, source, partly=True)
        note_added_forms(self.document, self.name, self.added)
        return self.document

    def _is_fuzzy(self, entry: Entry) -> bool:
        fuzzy = any("fuzzy" in flags_of(self.text[slice(*line)]) for line in entry.flags)
        return fuzzy and not all(each.is_empty for each in entry.translations.values())

    def _clear(self, entry: Entry) -> None:
        """Remove the flag fuzzy, and the comments with the previous source."""
        self._remove_fuzzy(entry)
        start = min(each.start for each in entry.fields.values())
        before = self._before(start, ("#|",))
        self.document.edits += [Edit(before, start, [])] if before < start else []

    def _remove_fuzzy(self, entry: Entry) -> None:
        for start, end in entry.flags:
            others = ", ".join(flag for flag in flags_of(self.text[start:end]) if flag != "fuzzy")
            kept = f"#, {others}{self.line_end}" if others else ""
            self.document.edits.append(Edit(start, end, [kept]))

    def _fill(self, entry: Entry, source: Field, partly: bool = False, again: bool = False) -> None:
        """Fill the empty translations of an entry, or `again` all; with `partly`, some plural forms are there."""
        plural, forms, matches = entry.fields.get("msgid_plural"), entry.translations, self._matches(entry, again)
        if plural is None or -1 in forms:
            self._copy(entry, source, [each for each in forms.values() if again or each.is_empty], matches)
            return
        numbers = range(self.forms or len(forms))
        singles = {self.singular} if len(numbers) > 1 else set()
        for own, wanted in ((source, singles), (plural, {*numbers} - singles)):
            targets = [each for number, each in forms.items() if number in wanted and (again or each.is_empty)]
            self._copy(entry, own, targets, matches)
        if partly or not self._has_words(plural):
            return
        last = forms[max(forms)]
        added = [f"{self.line_end}msgstr[{number}] " for number in numbers if number not in forms]
        self.added += len(added)
        if added:
            written = [piece for each in added for piece in (each, plural.span)]
            self.document.edits.append(Edit(last.end, last.end, written))
        for number, each in forms.items():
            if number not in numbers:
                before = self.text.rfind("\n", 0, each.start)
                self.document.edits.append(Edit(before - self.text[:before].endswith("\r"), each.end, []))

    def _has_words(self, own: Field) -> bool:
        return next(self._places(own, []), None) is not None

    def _matches(self, entry: Entry, again: bool) -> EntryMatches:
        """The matches for an entry. If it is translated `again`, comments with the previous source are removed."""
        end = min(each.start for each in entry.fields.values())
        start = self._before(end, ("#|",))
        flag = Edit(start, end if again else start, [f"#, fuzzy{self.line_end}"])
        comments = start if again else self._before(end, ("#|", "#:", "#,"))  # flags before them are replaced
        return EntryMatches(flag, comments, self.line_end, "msgid_plural" in entry.fields)

    def _copy(self, entry: Entry, source: Field, targets: list[Field], matches: EntryMatches) -> None:
        """Translate the copies of a field in other fields."""
        flags = [flag for line in entry.flags for flag in flags_of(self.text[slice(*line)])]
        places = list(self._places(source, flags)) if targets else []
        if not places:
            return
        context = entry.fields.get("msgctxt")
        for place in places:
            place.usage = replace(place.usage, context=field_text(self.text, context) if context else None)
            place.review = Review([matches.flag], matched=matches.edits)
        self.document.places += places
        self.document.edits += [Edit(*target.span, [source.span]) for target in targets]

    def _before(self, start: int, marks: tuple[str, ...]) -> int:
        """The start of the lines before `start` that begin with marks: `#|` of a previous source, `#:`, `#,`."""
        while start:
            line = self.text.rfind("\n", 0, start - 1) + 1
            if not self.text.startswith(marks, line):
                break
            start = line
        return start

    def _places(self, source: Field, flags: list[str]) -> Iterator[Place]:
        parts: list[Part] = []
        for span in source.strings:
            parts += cut(self.text, *span, ESCAPE, unescaped, collapse=False)
        numbered = not NUMBERED.isdisjoint(flags)
        printf = Printf(numbered, certain=True) if numbered or not ORDERED.isdisjoint(flags) else None
        for place in string_places(parts, self.text, _escape, False, self.accelerators, printf=printf):
            place.copied = True
            yield place

    def _header(self, entry: Entry, has_plurals: bool) -> None:
        own = entry.fields.get("msgstr")
        if own is None:
            return
        header = "".join(self.text[slice(*span)] for span in own.strings)
        language = re.search(r"(?:^|\\n)Language:[ \t]*([\w@.-]*)", header)
        declared = language[1] if language else ""
        self.is_template = check_target(self.name, declared, self.languages, self.empty)
        self.replaced = r"nplurals=\w+;\s*plural=[^;]*;?" if declared else r"nplurals=INTEGER;\s*plural=EXPRESSION;?"
        before = len(self.document.edits)
        for start, end in own.strings:
            new = self._filled(self.text[start:end])
            if new != self.text[start:end]:
                self.document.edits.append(Edit(start, end, [new]))
                header = header.replace(self.text[start:end], new)
        if has_plurals and self.languages.target and "Plural-Forms:" not in header and header.endswith("\\n"):
            line = f"Plural-Forms: {plural_rule(self.languages.target)[1]}\\n"
            self.document.edits.append(Edit(own.end, own.end, [f'{self.line_end}"{line}"']))
            header += line
        if len(self.document.edits) > before:
            self._remove_fuzzy(entry)
        self.forms, self.singular = plural_forms(header, self.name)

    def _filled(self, line: str) -> str:
        """A line of the header, in which placeholders of a template are filled."""
        target = self.languages.target
        line = line.replace("charset=CHARSET", "charset=UTF-8")
        if target is None:
            return line
        if self.is_template:
            line = re.sub(r"((?:^|\\n)Language:)[ \t]*[\w@.-]*", rf"\1 {target.replace('-', '_')}", line)
            line = re.sub(self.replaced, lambda found: plural_rule(target)[1], line)
        return line


def _escape(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
