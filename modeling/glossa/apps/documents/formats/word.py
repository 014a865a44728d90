"""Members with runs, and in Word comments on paragraphs that people should look at."""

import re
from collections.abc import Callable

from ....base.errors import GlossaError
from ..places import Document, Edit, Review
from .format import LanguagePair
from .language import set_language
from .runs import Names, run_places
from .tokens import Token

# The attribute with the language, by element.
_LANGUAGE = {"w:lang": "w:val", "a:rPr": "lang", "a:endParaRPr": "lang", "a:defRPr": "lang"}


def read_runs(
    text: str, name: str, names: Names, languages: LanguagePair, commented: bool
) -> tuple[Document, list[Token]]:
    """The paragraphs of a member, and its tokens. Its language becomes the target language.

    With `commented`, paragraphs that people should look at get a comment.
    """
    places, tokens = run_places(text, name, names, languages)
    for place in places if commented else ():
        begin, end = around(place.start)
        place.review = Review([Edit(place.end, place.end, [end])], [begin])
    document = Document(text, places)
    for token in tokens:
        if token.name in _LANGUAGE and token.kind != "close":
            set_language(document, token, languages, (_LANGUAGE[token.name],))
    return document, tokens


FIRST = 1_000_000_000  # number of a comment at the first character; Word numbers comments from 0
MEMBER, TYPES = "word/comments.xml", "[Content_Types].xml"
TEXT = "Glossa: this translation may need a correction."
_SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_EMPTY = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:comments {_SPACE}></w:comments>'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml"
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"


def around(position: int) -> tuple[str, str]:
    """The tags around a text with a comment; the comment's number is made from the text's first character."""
    number = f'w:id="{FIRST + position}"'
    reference = f"<w:r><w:commentReference {number}/></w:r>"
    return f"<w:commentRangeStart {number}/>", f"<w:commentRangeEnd {number}/>{reference}"


def with_comments(members: dict[str, str], main: str, read: Callable[[str], str]) -> dict[str, str]:
    """Changed members of a Word document, with the comments to which its text refers.

    Args:
        members: The changed members by name.
        main: The name of the member with the text.
        read: Reads another member, or returns "".

    Raises:
        GlossaError: If the document has its comments in another member than Word.
    """
    found = re.findall(r'<w:commentReference w:id="(1\d{9})"/>', members.get(main, ""))
    old = members.get(MEMBER, "") or read(MEMBER)
    numbers = [number for number in found if f'w:id="{number}"' not in old]
    if not numbers:
        return members
    content = f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>"
    added = "".join(
        f'<w:comment w:id="{number}" w:author="Glossa" w:initials="G">{content}</w:comment>' for number in numbers
    )
    changed = members | {MEMBER: _before("</w:comments>", added, old or _EMPTY)}
    if not old:
        name = f"word/_rels/{main.rpartition('/')[2]}.rels"
        relations = read(name)
        if _KIND in relations:
            raise GlossaError(
                "The document has comments in an unusual member, where none can be added. Leave --min_confidence "
                "out, or save the document in Word."
            )
        relation = f'<Relationship Id="glossaComments" Type="{_KIND}" Target="comments.xml"/>'
        changed[name] = _before("</Relationships>", relation, relations)
        kind = f'<Override PartName="/{MEMBER}" ContentType="{_TYPE}"/>'
        changed[TYPES] = _before("</Types>", kind, read(TYPES))
    return changed


def _before(tag: str, added: str, text: str) -> str:
    """A text with `added` before its last tag `tag`."""
    before, found, after = text.rpartition(tag)
    if not found:  # an empty element
        name = tag[2:-1]
        return re.sub(rf"(<{name}\b[^>]*?)\s*/>", lambda opened: f"{opened[1]}>{added}{tag}", text, count=1)
    return f"{before}{added}{found}{after}"
