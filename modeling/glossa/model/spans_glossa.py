"""Spans: parts of a text that its translation must have as they are. It is saved with the model."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from .facts_glossa import EMOJI, EMOJI_FIRST, WIDE

_OUTSIDE = rf"\s<>\"'«»“”{WIDE}"  # characters that end an address
ADDRESS = re.compile(
    # A bracket that closes inside belongs to the address. Other marks belong to it if more follows.
    rf"(?:https?://(?:[{WIDE}]{{1,63}}\.)*|www\.)(?:\([^{_OUTSIDE}()\[\]]*\)|\[[^{_OUTSIDE}()\[\]]*\]"
    rf"|[^{_OUTSIDE}.,;:!?)\]]|[.,;:!?)\]]++(?=[^{_OUTSIDE}]))++"
    # The start of a word, and 64 characters (RFC 5321): the time is linear in the length of the text.
    rf"|(?<![^\W{WIDE}])(?<![.+-])(?:[^\W{WIDE}]|[.+-]){{1,64}}+@(?:[^\W{WIDE}]|-)+(?:\.(?:[^\W{WIDE}]|-)+)+"
)
# The placeholders that models were trained with: {name}, {{name}}, %d, %(name)s, <tag>, &amp;
PLACEHOLDER = re.compile(
    r"\{\{[^{}\n]{1,60}\}\}|\$?\{[^{}\n]{0,60}\}|%\([^()\n]{1,60}\)[a-z]"
    rf"|%(?:\d\$)?[sdfiu@](?![^\W\d_{WIDE}])"
    r"|</?[a-zA-Z][^<>\n]{0,200}>|&(?:#\d+|[a-z]+);"
)
# What a model reads instead of an address, a placeholder or an emoji: the object replacement character.
MARK = "\ufffc"
# What a model that has these tokens reads instead, a different one for each span of a sentence. Nobody uses these
# characters, whose meaning is private.
SENTINELS = "".join(map(chr, range(0x10FF01, 0x10FF0A)))
# Between a source, the translation of a match in a memory, and what the match has other than the source.
MEMORY = chr(0x10FF0A)
# What a model reads as `MARK`; models were trained with it, so it stays as it is.
ITEM = re.compile(rf"{ADDRESS.pattern}|{PLACEHOLDER.pattern}|{EMOJI}|{MARK}")

# The length of the type in a directive of printf.
LENGTH = "(?:hh|h|ll|l|L|q|j|z|t)?"
# No letter of a script with spaces between words. In others, particles and counters may follow: %s을, %d個.
_NO_LETTER = rf"(?![^\W\d_{WIDE}\u1100-\u11ff\uac00-\ud7a3])"
_UNITS = (
    r"(?:(?:km|m|cm|mm)/[hs]|[kmµn]?g/(?:m[²³23]|c?m³|d?[lL])|[kKMGTP]i?B(?:/s|it)?|[kMG]?bit/s|[kMG]?Hz"
    r"|[munµpk]?[gmsLlWVAJ]|cm|dm|km|kg|mg|ml|cl|kW|MW|kWh|px|pt|em|rem|dpi|fps|ms|min|°[CF]?|%%?|‰)"
)
_NAME = rf"[^\W\d{WIDE}][^\W{WIDE}]*"
# The kinds of spans. Of those that begin at the same character, the first one wins.
KINDS = {
    "address": "|".join(
        (
            ADDRESS.pattern,
            rf"(?<![\w+.-])[a-z][a-z\d+.-]{{1,15}}://[^{_OUTSIDE}]*[^{_OUTSIDE}.,;:!?)\]]",  # of other programs
            rf"(?<![^\W{WIDE}])(?<![@#&/.])(?:@{_NAME}(?:[.@]{_NAME})*|#{_NAME})",  # @handle #hashtag
        )
    ),
    "placeholder": "|".join(
        (
            r"\{\{\{.{0,80}?\}\}\}|\{\{.{0,80}?\}\}|[$#%]?\{[^{}\n]{0,80}\}|<%.{0,80}?%>",  # {{{x}}} ${x} %{x}
            # References to other texts of i18next and vue-i18n: $t(key), @:key, @.lower:key, @:{key}
            r"\$t\([^()\n]{1,80}\)|(?<!\w)@(?:\.[a-z]+)?:(?:[\w-]+(?:\.[\w-]+)*|[({][^(){}\n]{1,80}[)}])",
            r"%[-+#0']*+\d*<PRI\w+>",  # gettext's %<PRIu64>
            r"%(?:\([^()\n]{1,60}\)|<[^<>\s]{1,60}>)[-+ #0]*+\d*(?:\.\d+)?[a-zA-Z]",  # %(name)s %<name>s
            # printf of C and Python, and arguments of Qt (%1, %L1, %n).
            rf"%(?:\d+\$)?[-+#0]*+(?:\*|\d+)?(?:\.(?:\*|\d+))?{LENGTH}[sdiufFeEgGxXocra@]{_NO_LETTER}",
            # The same with the groups or digits of a locale (%'d, %Id), also in %'dth; and %dth, %dx%d, %1$dh %2$dm.
            rf"%\d+\$[-+#0]*+\d*(?:\.\d+)?{LENGTH}[sdiufFeEgGxXoc](?=[a-z]{{1,3}}(?![^\W_]))",
            r"%(?:\d+\$)?[-+#0]*['I][-+#0]*+\d*(?:\.\d+)?(?:ll|l|j|z|t)?[diufFgG]",
            r"(?<!\d)%(?:\d+\$)?[du](?=(?:st|nd|rd|th)(?![^\W_])|x%)",
            rf"%(?:L?\d{{1,2}}|n){_NO_LETTER}(?![\d_$])|%%",
            r"(?<!\w)%[A-Za-z_]\w*%(?!\w)",  # %NAME%
            rf"(?<![\d%])%[-_^#0]?[A-Za-z]{_NO_LETTER}(?!\d)",  # %H:%M and %-d of strftime, %S of a program's own
            rf"(?!<[a-z]+://)(?:{PLACEHOLDER.pattern})",
        )
    ),
    "path": "|".join(
        (
            # /etc/hosts ./a.sh ~/notes /etc/
            r"(?<![\w/.])(?:~|\.{1,2})?/(?:(?:[\w.@+-]+/)+(?:[\w.@+-]*[\w@+-])?|[\w.@+-]*[\w@+-])"
            r"(?:[?#][\w.=&%/+-]*[\w=&/])?",
            r"(?<=\])\([^\s()]{1,300}\)",  # the address of a link in Markdown
            r"(?<!\w)[A-Za-z]:\\(?:(?:[\w .-]+\\)+(?:[\w.-]*\w)?|[\w.-]*\w)",  # C:\Users C:\Users\
            r"(?<![\w/.-])[\w-]+(?:/[\w.-]+)*\.(?:py|js|ts|json|ya?ml|toml|md|txt|html?|css|sh|exe|dll|zip|gz|tar|png"
            r"|jpe?g|svg|pdf|docx?|xlsx?|csv|tsv|xml|cfg|ini|conf|log|c|h|cpp|rs|go|java|jar|php|sql)(?![\w-]|\.\w)",
        )
    ),
    "code": r"`[^`\n]{1,80}`",
    # snake_case, camelCase, utf-8, d41d8cd9, a.dotted.name.
    "identifier": "|".join(
        (
            # Not Sa_ve, whose letter after the low line is the key of a menu.
            r"(?<![\w.-])(?:[a-z][a-z0-9]{2,30}(?:_[a-z0-9]{3,30})+|[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{2,30})+"
            r"|[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){2,9})(?:\(\))?(?![\w-])",
            r"(?<![\w.-])[a-z]{2,30}[A-Z][A-Za-z0-9]{1,50}(?:\(\))?(?![\w-])",
            r"(?<![\w.-])[a-z]{2,20}-\d{1,6}(?![\w-]|\.\w)",
            r"(?<![\w.-])[a-z]\w{0,30}(?:\.[a-z]\w{1,30}){2,6}(?:\(\))?(?![\w-]|\.\w)",
            r"(?<![\w.-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![\w-])",
        )
    ),
    # IBAN, ISBN, and telephone numbers with the code of their country.
    "account": r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"
    r"|(?<![\w-])97[89](?:-\d{1,7}){3}-\d(?![\w-])|(?<![\w+])\+\d{1,3}(?:[ ./-]?\(?\d{1,9}\)?){2,6}(?!\w)",
    "option": r"(?<![\w%‰€$£°)\]}])(?<!\w[\"'“”’»])--?[A-Za-z][\w-]+(?:=\S*\w)?",  # --option; not 5%-Hürde
    "version": r"(?<![\w.])v\d+(?:\.\d+)*(?:[-+.]?(?:alpha|beta|rc|dev|post)\.?\d*)?(?!\w)"
    r"|(?<![\w.])\d+(?:\.\d+){3}:\d+(?!\w)"  # an IP address and its port
    r"|(?<![\w.])\d+(?:\.\d+){2,}(?:-(?:alpha|beta|rc|dev|post)\.?\d*)?(?!\w|\.\w)",
    "measure": rf"(?<![\w.,])\d+(?:[.,]\d+)*[ \u00a0\u202f]?{_UNITS}(?![\w(]|/\w)",
    "number": r"(?<![\w.])0x[0-9a-fA-F]+(?!\w)",
    "emoji": rf"{EMOJI}|(?<![\w:]):[a-z][\w+-]*[a-z\d]:(?![\w:])",  # :smile: and :material-alert:
    "sentinel": f"[{SENTINELS}{MEMORY}]",  # which no text has of its own
}
# Most characters begin no span, and are passed at once: those inside of words, white space, and words of letters.
_WORD = rf"[A-Z]?[^\W\d_A-Z{EMOJI_FIRST}{WIDE}]++(?![\w@+/\\-]|[.:]\S)"
_BEGINS = rf"(?:(?<![^\W{WIDE}])(?!\s|(?<=[{WIDE}])[{WIDE}]|{_WORD})|(?=[^\w\s]|[{EMOJI_FIRST}]|https?:|www\.))"
ANY_SPAN = re.compile(_BEGINS + "(?:" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()) + ")")


class Span(NamedTuple):
    """The characters of a text from `start` to `end`, which its translation must have as they are."""

    start: int
    end: int


def find_spans(text: str, kept: Sequence[re.Pattern[str]] = ()) -> list[Span]:
    """The spans of a text, from left to right: what `kept` match, and what else must stay."""
    found: list[Span] = []
    for pattern in (*kept, ANY_SPAN):
        found = with_others(found, [Span(*each.span()) for each in pattern.finditer(text) if each[0].strip()])
    return found


def with_others(spans: list[Span], others: list[Span]) -> list[Span]:
    """Spans, and others that overlap none of them. All are from left to right."""
    if not spans:
        return others
    apart = []
    for span in others:
        following = bisect_right(spans, span.start, key=lambda each: each.end)
        if following == len(spans) or spans[following].start >= span.end:
            apart.append(span)
    return sorted([*spans, *apart])


class Hidden:
    """A text with one letter for each of its spans, in which no sentence ends and which is not cut.

    Args:
        text: Any text.
        spans: Its spans, from left to right, none inside of another one.

    Attributes:
        text: The text with the letters.
    """

    # Cuneiform: letters that no text to translate has. There are fewer than a long text may have spans.
    LETTERS = "".join(map(chr, range(0x12000, 0x12380)))
    _ANY = re.compile(f"[{LETTERS[0]}-{LETTERS[-1]}]")

    def __init__(self, text: str, spans: Sequence[Span] = ()):
        strange = () if text.isascii() else (Span(*found.span()) for found in self._ANY.finditer(text))
        apart = [span for span in strange if not any(start <= span.start < end for start, end in spans)]
        self.given = sorted([*((span, True) for span in spans), *((span, False) for span in apart)])
        self.texts = [text[start:end] for (start, end), _ in self.given]
        done, position = [], 0
        for number, ((start, end), _) in enumerate(self.given):
            done += [text[position:start], self.LETTERS[number % len(self.LETTERS)]]
            position = end
        self.text = "".join([*done, text[position:]])
        self.shown = 0  # spans of the pieces so far

    def measured(self, piece: str) -> tuple[str, tuple[Span, ...]]:
        """Any piece of [`Hidden.text`] with the spans written out, and their positions in it.

        In a text with more spans than there are letters, these may be other ones.
        """
        found = self._ANY.search(piece)
        return self._show(piece, self.LETTERS.index(found[0]) if found else 0)

    def next(self, piece: str) -> tuple[str, tuple[Span, ...]]:
        """The next piece of [`Hidden.text`] with the spans written out, and their positions in it."""
        first = self.shown
        self.shown += len(self._ANY.findall(piece))
        return self._show(piece, first)

    def _show(self, piece: str, first: int) -> tuple[str, tuple[Span, ...]]:
        if not self.given:
            return piece, ()
        parts = self._ANY.split(piece)
        text, spans = parts[0], []
        for number, part in enumerate(parts[1:], first):
            start = len(text)
            text += self.texts[number]
            if self.given[number][1]:
                spans.append(Span(start, len(text)))
            text += part
        return text, tuple(spans)


__all__ = [
    "ADDRESS",
    "ITEM",
    "LENGTH",
    "MARK",
    "MEMORY",
    "PLACEHOLDER",
    "SENTINELS",
    "Hidden",
    "Span",
    "find_spans",
    "with_others",
]
