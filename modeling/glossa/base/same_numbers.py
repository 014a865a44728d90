"""Whether a text and its translation have the same numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence

from .number_words import MONTH, number_words
from .numbers import WEAK_VALUES, Figure, Numbers, find_numbers

CENTURIES = ("18", "19")  # whose decades have short names
SPELLED = 20  # numbers up to this one are often words, which are not known in every language
DAY = 24


def same_numbers(source: str, target: str, languages: Sequence[str | None] = (None, None)) -> bool:
    """Whether each number of a text is one of the other text, as a figure or as a word.

    What is no difference: marks of decimals and thousands, hours of another clock, short names of decades and of the
    end of a range of years, ordinals, and digits in a name that only one text writes so. Numbers in other places are
    no difference either, unless a slash, a colon or a dash stands between them.

    Args:
        source: A text.
        target: Its translation.
        languages: The codes of both languages, if they are known. Small figures of one text alone count only if the
            number words of the other language are known, or if that text has the same figure at another place.
    """
    first, second = (find_numbers(text, code) for text, code in zip((source, target), languages, strict=True))
    if first == second:  # most texts, most of them without a number
        return True
    if first.doubled != second.doubled or _swapped(first, second) or _swapped(second, first):
        return False
    figures = _unequal(first.figures + _month_figures(first, second), second.figures + _month_figures(second, first))
    words = _words_left(first, second), _words_left(second, first)
    lost, added = _parts(figures[0], words[1]), _parts(figures[1], words[0])
    lost, added = lost - added, added - lost
    lost -= _covering(words[1], _weak(second, first), figures[0])
    added -= _covering(words[0], _weak(first, second), figures[1])
    lost += _lost_words(first, second, languages)
    added += _lost_words(second, first, languages[::-1])
    lost, added = _without_other_ways(lost, added, words, first.clock or second.clock)
    if lost and added:
        return False
    return not (_counts(lost, figures[0], second, languages[1]) or _counts(added, figures[1], first, languages[0]))


def _swapped(own: Numbers, other: Numbers) -> bool:
    return any(pair not in other.pairs and pair[::-1] in other.pairs for pair in own.pairs)


def _month_figures(own: Numbers, other: Numbers) -> list[Figure]:
    """The months of a text as figures, if the other one writes them so; no word but a month's stands for them."""
    return [Figure((month,), (MONTH + month,), False, False) for month in own.months.elements() if other.dated]


def _unequal(first: list[Figure], second: list[Figure]) -> tuple[list[Figure], list[Figure]]:
    """The figures of each text without an equal one in the other; those of names may be there more often."""
    known = [{whole for figure in side for whole in figure.wholes} for side in (first, second)]
    for names in ((False, False), (True, True), (False, True), (True, False)):
        first, second = _unequal_kinds(first, second, names)
    sides = ((first, known[1]), (second, known[0]))
    left = [[one for one in own if not (one.name and there.issuperset(one.wholes))] for own, there in sides]
    return left[0], left[1]


def _unequal_kinds(
    first: list[Figure], second: list[Figure], names: tuple[bool, bool]
) -> tuple[list[Figure], list[Figure]]:
    """The same, where only numbers or names of each text are compared."""
    places: dict[str, list[int]] = {}
    for place, figure in reversed([*enumerate(second)]):
        for whole in figure.wholes if figure.name == names[1] else ():
            places.setdefault(whole, []).append(place)
    left, used = [], set()
    for figure in sorted(first, key=lambda one: len(one.parts) == 1):  # 1.0 is no other 1
        for whole in figure.wholes if figure.name == names[0] else ():
            while (same := places.get(whole)) and same[-1] in used:
                same.pop()
            if same:
                used.add(same.pop())
                break
        else:
            left.append(figure)
    return left, [figure for place, figure in enumerate(second) if place not in used]


def _words_left(own: Numbers, other: Numbers) -> Counter[str]:
    """The values of words that are no words of the other text."""
    return own.words - other.words + (own.weak - other.weak) + own.han + (own.months - other.months)


def _weak(own: Numbers, other: Numbers) -> Counter[str]:
    """Of [`_words_left`], those that are seldom written with digits."""
    return own.weak - other.weak + Counter(value for value in own.han.elements() if value in WEAK_VALUES)


def _parts(figures: Iterable[Figure], words: Counter[str]) -> Counter[str]:
    """The numbers in figures, without those that are words as a whole."""
    return Counter(
        part
        for figure in figures
        if len(figure.parts) == 1 or not any(words[whole] for whole in figure.wholes)
        for part in figure.parts
    )


def _covering(words: Counter[str], weak: Counter[str], figures: Iterable[Figure]) -> Counter[str]:
    """The words that stand for figures of the other text: weak ones for those that count things."""
    counted = Counter(part for figure in figures if figure.counts for part in figure.parts)
    strong = {value: max(words[value] - weak[value], 0) + counted[value] for value in WEAK_VALUES}
    return Counter({value: min(count, strong.get(value, count)) for value, count in words.items()})


def _lost_words(own: Numbers, other: Numbers, languages: Sequence[str | None]) -> Counter[str]:
    """The clear number words that the other text has neither as words nor as figures."""
    words = number_words(languages[1])
    if not words or not words.whole:
        return Counter()
    return own.clear - other.words - other.han - _values(other)


def _values(numbers: Numbers) -> Counter[str]:
    return Counter(value for figure in numbers.figures for value in {*figure.wholes, *figure.parts})


def _without_other_ways(
    lost: Counter[str], added: Counter[str], words: Sequence[Counter[str]], clock: bool
) -> tuple[Counter[str], Counter[str]]:
    """The numbers of each text without hours of another clock, and without decades in their short or long form."""
    for years, others in ((lost, added), (added, lost)):
        _take_century(years, others)
    lost, added = +lost, +added
    if clock:
        lost, added = lost - _hours([*added, *words[1]]), added - _hours([*lost, *words[0]])
    return lost - _decades(lost, [*added, *words[1]]), added - _decades(added, [*lost, *words[0]])


def _hours(numbers: Iterable[str]) -> Counter[str]:
    """The same hours on another clock."""
    hours = [int(one) for one in numbers if one.isdecimal() and len(one) < 3]
    return Counter(str(other) for hour in hours for other in (hour - DAY // 2, hour + DAY // 2) if 0 <= other <= DAY)


def _decades(numbers: Iterable[str], others: Iterable[str]) -> Counter[str]:
    """Those of `numbers` that are decades of `others` in their short or long form: 80 and 1980."""
    ends = {other for other in others if other.endswith("0")}
    short = {other[2:] for other in ends if len(other) == 4 and other[:2] in CENTURIES}
    return Counter(
        one for one in numbers if one in short or (len(one) == 4 and one[:2] in CENTURIES and one[2:] in ends)
    )


def _take_century(years: Counter[str], others: Counter[str]) -> None:
    """Take away the decade 1930 of one text that is the 20th century's 30 of the other one."""
    for year in [one for one in years if len(one) == 4 and one.isdecimal()]:
        century, decade = str(int(year[:2]) + 1), year[2:]
        if others[century] > 0 and others[decade] > 0:
            years[year] = others[century] = others[decade] = 0


def _counts(left: Counter[str], figures: Iterable[Figure], other: Numbers, language: str | None) -> bool:
    """Whether what one text alone has is a difference: no name, and no figure that may be an unknown word."""
    names = {part for figure in figures if figure.name for part in figure.parts}
    known, there = number_words(language) is not None, _values(other)
    return any(known or len(one) > 2 or int(one) > SPELLED or one in there for one in left if one not in names)
