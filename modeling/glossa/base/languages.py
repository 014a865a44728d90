"""Names and codes of languages. Imports no library at first, so that settings are checked quickly."""

import re
from collections.abc import Sequence

from .errors import GlossaError

# By Glossa's code (ISO 639-1 if it exists): the ISO 639-2 and 639-3 codes, and names.
LANGUAGES = {
    "af": "afr afrikaans", "am": "amh amharic", "an": "arg aragonese", "ar": "ara arb arabic", "as": "asm assamese",
    "az": "aze azj azerbaijani", "ba": "bak bashkir", "be": "bel belarusian", "bg": "bul bulgarian",
    "bn": "ben bengali bangla", "br": "bre breton", "bs": "bos bosnian", "ca": "cat catalan valencian",
    "cs": "ces cze czech", "cy": "cym wel welsh", "da": "dan danish", "de": "deu ger german deutsch",
    "el": "ell gre greek", "en": "eng english englisch anglais", "eo": "epo esperanto",
    "es": "spa spanish español espanol", "et": "est ekk estonian", "eu": "eus baq basque",
    "fa": "fas per pes persian farsi", "fi": "fin finnish", "fo": "fao faroese",
    "fr": "fra fre french français francais", "fy": "fry frisian", "ga": "gle irish", "gd": "gla gaelic",
    "gl": "glg galician", "gu": "guj gujarati", "ha": "hau hausa", "he": "heb iw hebrew", "hi": "hin hindi",
    "hr": "hrv croatian", "ht": "hat haitian", "hu": "hun hungarian", "hy": "hye arm armenian",
    "id": "ind indonesian", "ig": "ibo igbo", "is": "isl ice icelandic", "it": "ita italian italiano",
    "ja": "jpn japanese", "jv": "jav javanese", "ka": "kat geo georgian", "kk": "kaz kazakh", "km": "khm khmer",
    "kn": "kan kannada", "ko": "kor korean", "ku": "kur kmr kurdish", "ky": "kir kyrgyz", "la": "lat latin",
    "lb": "ltz luxembourgish", "ln": "lin lingala", "lo": "lao", "lt": "lit lithuanian", "lv": "lav lvs latvian",
    "mg": "mlg malagasy", "mi": "mri mao maori", "mk": "mkd mac macedonian", "ml": "mal malayalam",
    "mn": "mon khk mongolian", "mr": "mar marathi", "ms": "msa may zsm malay", "mt": "mlt maltese",
    "my": "mya bur burmese", "nb": "nob bokmål", "ne": "nep nepali", "nl": "nld dut dutch flemish nederlands",
    "nn": "nno nynorsk", "no": "nor norwegian", "oc": "oci occitan", "or": "ori ory odia oriya", "pa": "pan punjabi",
    "pl": "pol polish polski", "ps": "pus pashto", "pt": "por portuguese português portugues", "qu": "que quechua",
    "ro": "ron rum romanian", "ru": "rus russian", "rw": "kin kinyarwanda", "sd": "snd sindhi", "si": "sin sinhala",
    "sk": "slk slo slovak", "sl": "slv slovenian", "so": "som somali", "sq": "sqi alb albanian", "sr": "srp serbian",
    "sv": "swe swedish", "sw": "swa swh swahili", "ta": "tam tamil", "te": "tel telugu", "tg": "tgk tajik",
    "th": "tha thai", "tk": "tuk turkmen", "tl": "tgl fil tagalog filipino", "tr": "tur turkish", "tt": "tat tatar",
    "ug": "uig uyghur", "uk": "ukr ukrainian", "ur": "urd urdu", "uz": "uzb uzn uzbek", "vi": "vie vietnamese",
    "wo": "wol wolof", "xh": "xho xhosa", "yi": "yid yiddish", "yo": "yor yoruba",
    "zh": "zho chi cmn chinese mandarin", "zu": "zul zulu",
}  # fmt: skip
_CODES = {name: code for code, names in LANGUAGES.items() for name in (code, *names.split())}


def language_code(name: str) -> str | None:
    """The code of a language given by name or code; None for an unknown one.

    "German", "ger", "deu_Latn" and "de-AT" are all "de".
    """
    name = name.strip().casefold()
    plain = re.fullmatch(r"([a-z]{2,3})([-_]([a-z]{2}|[a-z]{4}|\d{3}))+", name)
    return _CODES.get(plain[1] if plain else name)


def language_name(code: str) -> str:
    """The English name of the language with this code, "Portuguese (BR)" for "pt_BR"; the code of an unknown one."""
    plain, *region = re.split(r"[-_]", code.strip(), maxsplit=1)
    known = LANGUAGES.get(_CODES.get(plain.casefold(), ""), "").split()
    if not known:
        return code
    name = next((name for name in known if len(name) > 3), known[-1]).capitalize()
    return f"{name} ({region[0]})" if region else name


def direction(source: str | None, *targets: str | None) -> str:
    """The languages of a model in words: "English to French", "English to German and French".

    Without a source it is the target, or with several targets "several languages to German and French".
    """
    *first, last = [language_name(code) for code in targets if code] or [""]
    into = f"{', '.join(first)} and {last}" if first else last
    origin = language_name(source) if source else "several languages" if first else ""
    return " to ".join(name for name in (origin, into) if name)


def same_language(one: str, other: str) -> bool:
    """Whether two codes have the same language and script: "pt" and "pt_BR" do, "zh_CN" and "zh_TW" do not."""
    if one == other:
        return True
    return (language_code(one) or one) == (language_code(other) or other) and _script(one) == _script(other)


def find_language(wanted: str, known: Sequence[str]) -> str | None:
    """The code in `known` that equals `wanted`, or else has the same language and script; None if there is none."""
    if wanted in known:
        return wanted
    plain = language_code(wanted)
    some = [code for code in known if (language_code(code) or code) == plain]
    return next((code for code in some if same_language(code, wanted)), None)


def same_variant(one: str, other: str) -> bool:
    """Whether two codes have the same script and region; a missing script or region is the most likely one."""
    import langcodes  # rarely needed here

    try:
        first, second = (langcodes.Language.get(code).maximize() for code in (one, other))
    except langcodes.LanguageTagError:
        return False
    return (first.script, first.territory) == (second.script, second.territory)


def _script(code: str) -> str | None:
    import langcodes  # rarely needed here

    try:
        return langcodes.Language.get(code).maximize().script
    except langcodes.LanguageTagError:
        return None


def known_code(name: str) -> str:
    """The code of a language given by name or code. Raises `GlossaError` for a language that no standard lists."""
    import langcodes  # rarely needed here

    code = normalized_code(name)
    if not langcodes.tag_is_valid(re.split("[-_@]", code)[0]):
        raise GlossaError(f"{name!r} is no language. Give a code such as de, pt_BR and deu, or an English name.")
    return code


def normalized_code(name: str) -> str:
    """The code of a language given by name or code; other names, and codes such as "pt_BR", are returned unchanged."""
    return _CODES.get(name.strip().casefold(), name)
