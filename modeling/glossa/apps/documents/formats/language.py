"""Languages that files declare, and the plural forms of languages."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ....base.errors import GlossaError, require
from ....base.languages import language_name, same_language
from ..places import Document, Edit
from .format import LanguagePair
from .tokens import Token, attribute_range, attributes

_CODE = re.compile(r"[A-Za-z]{2,8}(?![^\W_-])")  # no statement of a template
CATEGORIES = ("zero", "one", "two", "few", "many", "other")
_FORM = re.compile(rf"(.*[._])({'|'.join(CATEGORIES[:-1])})", re.S)  # a plural form by its key


def check_target(name: str, declared: str, languages: LanguagePair, empty: bool = False) -> bool:
    """Whether the language of a file's translations is to be set: none is declared, or the source language.

    The latter is so in templates, which are `empty`. Raises `GlossaError` if the file declares another language.
    """
    if not declared or (empty and languages.source and same_language(declared, languages.source)):
        return languages.target is not None
    if languages.target and not same_language(declared, languages.target):
        raise GlossaError(
            f"{name} declares that its translations are in {language_name(declared)} ({declared}), but the target "
            f"language is {language_name(languages.target)}. Correct the declaration, or give another "
            "--target_language (perhaps with another model)."
        )
    return False


def note_source(document: Document, name: str, declared: str, languages: LanguagePair) -> None:
    """Add a note if a file declares another language for its text than the source language."""
    if _CODE.match(declared) and languages.source and not same_language(declared, languages.source):
        other = f"{name} declares that its text is in {language_name(declared)} ({declared})"
        document.notes.append(f"{other}; it is translated as {language_name(languages.source)}.")


def translated_language(declared: str, languages: LanguagePair) -> str | None:
    """The new code for a text that declares a language; None if the old code stays."""
    if not declared or not (languages.source and languages.target) or not same_language(declared, languages.source):
        return None
    return None if same_language(declared, languages.target) else languages.target.replace("_", "-")


def plural_categories(target: str) -> list[str]:
    """The plural categories of a language by Unicode's CLDR, such as one, few, many, other."""
    rule = _plural_form(target)
    own = {*rule.tags, "other"} if rule else {"one", "other"}
    return [category for category in CATEGORIES if category in own]


def counted_categories(target: str) -> list[str]:
    """The plural categories that whole numbers below 1,000 need: French has `many` only for millions."""
    rule = _plural_form(target)
    counted = {rule(number) for number in range(1000)} if rule else {*CATEGORIES}
    return [category for category in plural_categories(target) if category in counted]


def _plural_form(target: str) -> Any:
    """Babel's rule, which gives the category of a number; None for an unknown language."""
    babel = require("babel", "documents")
    try:
        return babel.Locale.parse(target.replace("-", "_")).plural_form
    except (babel.UnknownLocaleError, ValueError):
        return None


def form_of(key: str) -> tuple[str, str]:
    """The key of a plural form without its category, and the category; "" if it is none or the general one."""
    found = _FORM.fullmatch(key)
    return (found[1], found[2]) if found else (key, "")


def missing_keys(keys: Iterable[object], target: str) -> Iterator[tuple[str, list[str]]]:
    """Each key of a general plural form (`other`) with the keys of the plural forms that are missing.

    Rails has the keys `one` and `other` and no others; i18next has `file_one` and `file_other` among others.
    """
    known = {key for key in keys if isinstance(key, str)}
    alone = known <= {*CATEGORIES}
    for key in sorted(known):
        stem = key.removesuffix("other")
        counts = f"{stem}one" in known and (stem[-1:] == "_" if stem else alone)
        if key != stem and counts and not stem.endswith("_ordinal_"):
            yield key, [f"{stem}{each}" for each in plural_categories(target) if f"{stem}{each}" not in known]


def plural_rule(target: str) -> tuple[int, str]:
    """The number of plural forms of a language in catalogs of gettext, and the rule in their header.

    The third form that CLDR has for millions in Romance languages is left out: gettext has two.
    """
    plurals = require("babel.messages.plurals", "documents", "babel")
    rule = plurals.get_plural(target.replace("-", "_"))
    text, millions = re.subn(r"n != 0 && n % 1000000 == 0 \? 1 : 2\b", "1", rule.plural_expr)
    count = rule.num_plurals - millions
    return count, f"nplurals={count}; plural={text};"


def note_added_forms(document: Document, name: str, count: int) -> None:
    """Add a note about the plural forms that were added to a file."""
    if count:
        note = f"{count:,} plural forms that the language needs were missing; they are copies of the general form."
        document.notes.append(f"{name}: {note}")


def set_language(
    document: Document, token: Token, languages: LanguagePair, names: tuple[str, ...] = ("lang", "xml:lang")
) -> None:
    """Change the attributes of a tag that declare its language to the target language."""
    given = attributes(document.text, token)
    for name in names:
        new = translated_language(given.get(name, ""), languages)
        span = attribute_range(document.text, token, name) if new else None
        if new and span:
            document.edits.append(Edit(*span, [new]))
