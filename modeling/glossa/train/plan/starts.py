"""Published models to start from, by name. Nothing is looked up online.

The names of OPUS-MT are those that `marian_mt.py` of github.com/huu4ontocord/rio lists (commit a017d8e, 2022), between
languages of `base/languages.py`. The languages of the others are those of their tokenizers in transformers. Licenses
are those of their pages on the Hub; OPUS-MT has two of them, by model.
"""

from collections.abc import Iterator
from importlib import import_module

from ...base.languages import language_code

OPUS_MT = {
    "af": "de en eo es fi fr nl ru sv", "am": "sv", "ar": "de el en eo es fr he it pl ru tr", "az": "en es tr",
    "be": "es", "bg": "de en eo es fi fr it ru sv tr uk", "bn": "en", "ca": "de en es fr it nl pt uk",
    "cs": "de en eo fi fr sv uk", "cy": "en", "da": "de en eo es fi fr no ru",
    "de": "af ar bg ca cs da de el en eo es et eu fi fr ha he hr ht hu ig is it ln lt ms mt nl no pl tl uk vi",
    "el": "ar eo fi fr sv",
    "en": "af ar az bg ca cs cy da de el eo es et eu fi fr ga gl ha he hi ht hu hy id ig is it ln mg mk ml "
        "mr mt nl ro ru rw sk sq sv sw tl uk ur vi xh zh",
    "eo": "af bg cs da de el en es fi fr he hu it nl pl pt ro ru sv",
    "es": "af ar bg ca cs da de el en eo es et eu fi fr gl ha he hr ht id ig is it ln lt mk mt nl no pl ro "
        "ru rw sl tl uk vi xh yo",
    "et": "de en es fi fr ru sv", "eu": "de en es ru",
    "fi": "af bg cs de el en eo es et fi fr ha he hr ht hu id ig is it ln lv mg mk mt nl no ro ru rw sk sl "
        "sq sv sw tr uk xh yo",
    "fr": "af ar bg ca de el en eo es ha he hr ht hu id ig ln ms mt no pl ro ru rw sk sl sv tl uk vi xh yo",
    "ga": "en", "gl": "en es pt", "ha": "en es fi fr sv", "he": "ar de eo es fi fr it ru sv uk", "hi": "en ur",
    "hr": "es fi fr sv", "ht": "en es fi fr sv", "hu": "de en eo fi fr sv uk", "hy": "en ru", "id": "en es fi fr sv",
    "ig": "de en es fi fr sv", "is": "de en eo es fi fr it sv", "it": "ar bg ca de en eo es fr is lt ms sv uk vi",
    "ja": "ar bg da de en es fi fr he hu it ms nl pl pt ru sv tr vi", "ka": "en ru", "ko": "de en es fi fr hu ru sv",
    "ln": "de en es fr", "lt": "de eo es fr it pl ru sv tr", "lv": "en es fi fr ru sv", "mg": "en es",
    "mk": "en es fi fr", "ml": "en", "mr": "en", "ms": "de fr it ms", "mt": "en es fi fr sv",
    "nl": "af ca en eo es fi fr no sv uk", "no": "da de es fi fr nl no pl ru sv uk", "pa": "en",
    "pl": "ar de en eo es fr lt no sv uk", "pt": "ca eo gl tl uk", "ro": "eo fi fr sv",
    "ru": "af ar bg da en eo es et eu fi fr he hy lt lv no sl sv uk vi", "rw": "en es fr sv", "sk": "en es fi fr sv",
    "sl": "es fi fr ru sv uk", "sq": "en es sv",
    "sv": "af bg cs el en eo es et fi fr ha he hr ht hu id ig is ln lv mt nl no ro ru rw sk sl sq sv th uk xh yo",
    "th": "en fr", "tl": "de en es pt", "tr": "ar az en eo es fr lt sv uk",
    "uk": "bg ca cs de en es fi fr he hu it nl no pl pt ru sl sv tr", "ur": "en", "vi": "de en eo es fr it ru",
    "xh": "en es fr sv", "yo": "en es fi fr sv", "zh": "bg de en fi he it ms nl sv uk vi",
}  # fmt: skip
# Name, license, and the module of transformers with the codes of its languages.
SEVERAL = (
    ("facebook/m2m100_418M", "MIT", "m2m_100.tokenization_m2m_100"),
    ("facebook/nllb-200-distilled-600M", "CC BY-NC 4.0", "nllb.tokenization_nllb"),
    ("facebook/mbart-large-50-many-to-many-mmt", "see its page", "mbart50.tokenization_mbart50"),
)


def published_starts(source: str | None, target: str | None) -> Iterator[str]:
    """The published models for a pair of languages, each with its license: OPUS-MT first, since it is the smallest."""
    codes = [language_code(name or "") for name in (source, target)]
    if None in codes or codes[0] == codes[1]:
        return
    first, second = map(str, codes)
    if second in OPUS_MT.get(first, "").split():
        yield f"Helsinki-NLP/opus-mt-{first}-{second} (Apache 2.0 or CC BY 4.0)"
    for name, license, module in SEVERAL:
        listed = import_module(f"transformers.models.{module}").FAIRSEQ_LANGUAGE_CODES
        known = {language_code(code) for code in (listed["m2m100"] if isinstance(listed, dict) else listed)}
        if {first, second} <= known:
            yield f"{name} ({license})"
