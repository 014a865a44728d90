"""Determiners, and their contractions with prepositions, that another noun may need instead."""

_LISTS = {
    "ca": "el la l' els les un una uns unes del dels de d' al als",
    "da": "en et den det de min mit mine din dit dine sin sit sine",
    "de": (
        "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner mein meine meinen "
        "meinem meiner dein deine deinen deinem deiner sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer "
        "unser unsere unseren unserem unserer dieser diese dieses diesen diesem am beim im ins vom zum zur"
    ),
    "en": "a an the",
    "es": "el la los las un una unos unas del al este esta estos estas",
    "fr": (
        "le la l' les un une des du de d' de_la de_l' ce cet cette ces mon ma mes ton ta tes son sa ses notre nos "
        "votre vos leur leurs au aux à_la à_l'"
    ),
    "it": (
        "il lo la l' i gli le un uno una un' del dello della dell' dei degli delle al allo alla all' ai agli alle nel "
        "nello nella nell' dal dallo dalla dall' sul sullo sulla sull' di d'"
    ),
    "nb": "en ei et den det de min mitt mine din ditt dine sin sitt sine",
    "nl": "de het een die dat deze dit",
    "pt": "o a os as um uma uns umas do da dos das ao à aos às no na nos nas pelo pela este esta",
    "sv": "en ett den det de min mitt mina din ditt dina sin sitt sina",
}
DETERMINERS = {code: [each.replace("_", " ") for each in words.split()] for code, words in _LISTS.items()}


def beginnings(before: str, language: str | None) -> list[str]:
    """The text before a word, and the same with each other determiner of the language in place of its last one.

    It is the only one if it does not end with a determiner. French `la maison` gives "la ", "le ", "l'", and so on.
    """
    listed = DETERMINERS.get(language or "", [])
    given = " " + before.casefold().replace("’", "'")
    own = max((each for each in listed if given.endswith(" " + _written(each))), key=len, default=None)
    if own is None:
        return [before]
    stem = before[: len(before) - len(_written(own))]
    others = [each if stem else each[:1].upper() + each[1:] for each in listed if each != own]
    return [before, *(stem + _written(each) for each in others)]


def _written(determiner: str) -> str:
    return determiner if determiner.endswith("'") else f"{determiner} "
