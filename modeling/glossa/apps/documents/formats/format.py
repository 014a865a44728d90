"""The declaration of a format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .encoding import UTF_8, Encoding

if TYPE_CHECKING:  # `glossa translate` reads names of formats before it knows whether there is a document
    from ..places import Document
    from .keys import Keys


@dataclass(frozen=True)
class LanguagePair:
    """Codes of the languages that a document is translated from and into, if known."""

    source: str | None = None
    target: str | None = None


UNKNOWN = LanguagePair()
UNTRANSLATED, FUZZY = "untranslated", "fuzzy"  # entries without a translation, and with one that is to be reviewed


@dataclass(frozen=True)
class Chosen:
    """Which texts of documents are translated.

    Attributes:
        keys: The keys of JSON and YAML; None for all.
        columns: The columns of tables, whose cells are translated in place; None for the empty cells of the target
            column, and for all cells of a workbook.
        only: The entries of catalogs whose translations have a state: of `UNTRANSLATED` and `FUZZY`.
    """

    keys: "Keys | None" = None
    columns: "Keys | None" = None
    only: Sequence[str] = (UNTRANSLATED,)


class Opened(NamedTuple):
    """A file that is open for translation.

    Attributes:
        documents: Its texts; a packed file has several.
        pack: Returns the bytes of the file with other texts, one for each document.
    """

    documents: "list[Document]"
    pack: Callable[[list[str]], bytes]


class TextPair(NamedTuple):
    """A text of a file and its translation there.

    Attributes:
        line: Its line.
        source: The text. Codes of other programs are tags in both, such as `<g 1>`.
        target: The translation; "" if there is none.
        context: What distinguishes it from equal texts; None if nothing does.
        unfinished: Its state if people have not finished it, such as fuzzy, or "".
        most: The characters that the file allows; 0 if it does not say it.
        several: The text for several things, if this is a form for one, which may have its number or not; or "".
    """

    line: int
    source: str
    target: str
    context: str | None = None
    unfinished: str = ""
    several: str = ""
    most: int = 0


class Bilingual(NamedTuple):
    """The texts of a file that has their translations too, the languages it declares, and notes."""

    languages: LanguagePair
    pairs: list[TextPair]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Format:
    """A format of documents. It has either `read` or `open`.

    Attributes:
        name: Its name in `--format`.
        endings: The endings of its file names, in lower case. One without a leading dot is a whole name, or follows
            `_` in it.
        read: Finds the texts of a document. Its arguments are the text of the file, its name for messages, and the
            languages.
        encoding: The encoding of files that `read` reads.
        chosen_by: The field of [`Chosen`] that is the fourth argument of `read` and `open`, or "".
        values: Returns the characters of each value by its key, for formats with one language in a file. Its arguments
            are the text of the file and its name.
        pairs: Returns the texts and their translations, for formats with both languages in a file. Its arguments are
            those of `read`, with the columns of both if texts are chosen by columns.
        open: Opens a file that is not a single text. Its arguments are the bytes, the path and the languages.
        packed: Whether files are archives.
        recognizes: Whether a file that begins with these bytes has the format, if other files have its endings too.
    """

    name: str
    endings: tuple[str, ...]
    read: "Callable[..., Document] | None" = None
    encoding: Encoding = UTF_8
    chosen_by: str = ""
    values: Callable[[str, str], dict[str, tuple[int, int]]] | None = None
    pairs: Callable[..., Bilingual] | None = None
    open: Callable[..., Opened] | None = None
    packed: bool = False
    recognizes: Callable[[bytes], bool] | None = None

    @property
    def states(self) -> bool:
        """Whether translations have a state."""
        return self.chosen_by == "only"
