"""What a file says about its language: checked against the languages of the translation, and set to the target."""

import re
from collections.abc import Iterable, Iterator

from ....base.errors import GlossaError, require
from ....base.languages import language_name, same_language
from ..places import Document, Edit
from .format import LanguagePair
from .tokens import Token, attribute_range, attributes

CATEGORIES = ("zero", "one", "two", "few", "many", "other")


def check_target(name: str, said: str, languages: LanguagePair) -> None:
    """Raise `GlossaError` if a file says that its translations are in another language than they would be."""
    if said and languages.target and not same_language(said, languages.target):
        raise GlossaError(
            f"{name} says that its translations are in {language_name(said)} ({said}), and the model translates into "
            f"{language_name(languages.target)}. Correct what the file says, or give another model or "
            "--target_language."
        )


def note_source(document: Document, name: str, said: str, languages: LanguagePair) -> None:
    """Add a note if a file says that its text is in another language than the model reads."""
    if said and languages.source and not same_language(said, languages.source):
        other = f"{name} says that its text is in {language_name(said)} ({said})"
        document.notes.append(f"{other}; it is translated as {language_name(languages.source)}.")


def translated_language(said: str, languages: LanguagePair) -> str | None:
    """The code of the target in place of `said`, the language of a text that is translated; None if that stays."""
    if not said or not (languages.source and languages.target) or not same_language(said, languages.source):
        return None
    return None if same_language(said, languages.target) else languages.target.replace("_", "-")


def plural_categories(target: str) -> list[str]:
    """The plural categories of a language by Unicode's CLDR, such as one, few, many, other."""
    babel = require("babel", "documents")
    try:
        own = {*babel.Locale.parse(target.replace("-", "_")).plural_form.tags, "other"}
    except (babel.UnknownLocaleError, ValueError):
        own = {"one", "other"}
    return [category for category in CATEGORIES if category in own]


def missing_keys(keys: Iterable[object], target: str) -> Iterator[tuple[str, list[str]]]:
    """For each key of a general plural form (`other`) among `keys`, the missing keys of the language's forms.

    Rails has `one` and `other` alone, i18next `file_one` and `file_other` among others.
    """
    known = {key for key in keys if isinstance(key, str)}
    alone = known <= {*CATEGORIES}
    for key in sorted(known):
        stem = key.removesuffix("other")
        counts = f"{stem}one" in known and (stem[-1:] == "_" if stem else alone)
        if key != stem and counts and not stem.endswith("_ordinal_"):
            yield key, [f"{stem}{each}" for each in plural_categories(target) if f"{stem}{each}" not in known]


def plural_rule(target: str) -> tuple[int, str]:
    """How many plural forms a language has in catalogs of gettext, and how their header says that.

    Programs in Romance languages have two forms; CLDR has a third one, for millions, which is left out.
    """
    plurals = require("babel.messages.plurals", "documents", "babel")
    rule = plurals.get_plural(target.replace("-", "_"))
    text, millions = re.subn(r"n != 0 && n % 1000000 == 0 \? 1 : 2\b", "1", rule.plural_expr)
    count = rule.num_plurals - millions
    return count, f"nplurals={count}; plural={text};"


def missing_forms(document: Document, name: str, count: int) -> None:
    """Add a note about plural forms that a file has no place for."""
    if count:
        note = f"{count:,} plural forms that the language has and the file has not are made from the general one."
        document.notes.append(f"{name}: {note}")


def set_language(
    document: Document, token: Token, languages: LanguagePair, names: tuple[str, ...] = ("lang", "xml:lang")
) -> None:
    """Have the attributes of a tag that say its language say the target."""
    given = attributes(document.text, token)
    for name in names:
        new = translated_language(given.get(name, ""), languages)
        span = attribute_range(document.text, token, name) if new else None
        if new and span:
            document.edits.append(Edit(*span, [new]))
