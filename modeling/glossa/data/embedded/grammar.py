"""The grammar of the embedded corpus: agreement, conjugation, elision and word order in English and French.

Phrases travel as a `Pair`, the same meaning in both languages. French stays uncontracted inside a pair ("de le
pain", "je ai"), since merging depends on words that follow later; `sentence` merges them.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from .lexicon import ASPIRATED, NUMBERS, Adjective, Noun, Verb, plural_fr

NO_BREAK_SPACE = "\u00a0"
VOWELS = "aàâæeéèêëiîïoôœuùûü"
TENSES = ("present", "past", "future")
# Adverbs next to the verb, English to French; the first three negate.
ADVERBS = {
    "not": "pas",
    "never": "jamais",
    "no longer": "plus",
    "often": "souvent",
    "always": "toujours",
    "sometimes": "parfois",
}
NEGATIVE = ("not", "never", "no longer")
# Masculine, feminine, plural.
POSSESSIVES = {
    "my": ("mon", "ma", "mes"),
    "your": ("votre", "votre", "vos"),
    "our": ("notre", "notre", "nos"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "their": ("leur", "leur", "leurs"),
}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
ELIDED = ("le", "la", "de", "je", "me", "se", "ne", "que")
# The auxiliary verbs of English, which take neither "do" nor "-s": first person, third person, the rest.
AUXILIARIES = {
    "be": {"present": ("am", "is", "are"), "past": ("was", "was", "were")},
    "can": {"present": ("can",) * 3, "past": ("could",) * 3},
    "must": {"present": ("must",) * 3},
}
ETRE = ("suis", "est", "sommes", "êtes", "sont")
AVOIR = ("ai", "a", "avons", "avez", "ont")
FUTURE = ("ai", "a", "ons", "ez", "ont")
IMPERFECT = ("ais", "ait", "ions", "iez", "aient")
REFLEXIVE = ("me", "se", "nous", "vous", "se")
SPEAKER, SINGULAR, WE, YOU, PLURAL = range(5)


class Pair(NamedTuple):
    """The same words in both languages, French not yet contracted."""

    en: str = ""
    fr: str = ""


@dataclass(frozen=True)
class Subject:
    """The subject of a clause. `person` indexes the conjugations; `owner` is the possessive that refers to it."""

    en: str
    fr: str
    person: int
    feminine: bool = False
    owner: str = ""


PRONOUNS = [
    Subject("I", "je", SPEAKER, owner="my"),
    Subject("you", "vous", YOU, owner="your"),
    Subject("we", "nous", WE, owner="our"),
    Subject("he", "il", SINGULAR, owner="his"),
    Subject("she", "elle", SINGULAR, feminine=True, owner="her"),
    Subject("they", "ils", PLURAL, owner="their"),
]

# Each with the (feminine, plural) that a past participle agrees with, if known.
OBJECT_PRONOUNS = {
    "me": (Pair("me", "me"), None),
    "you": (Pair("you", "vous"), None),
    "us": (Pair("us", "nous"), None),
    "him": (Pair("him", "le"), (False, False)),
    "her": (Pair("her", "la"), (True, False)),
    "them": (Pair("them", "les"), (False, True)),
}
BESIDE = {"near": "près de", "behind": "derrière", "in front of": "devant", "next to": "à côté de"}
WHO = Subject("who", "qui", SINGULAR)


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner: the, a, this, which, a number, a possessive, "own" or "" (du, de la, des).

    "own" is the possessive of the subject of the clause: "he" makes it "his".
    """

    noun: Noun
    determiner: str
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()

    def pair(self, owner: str = "", negated: bool = False, generic: bool = False) -> Pair:
        """Both languages. `negated` turns "un" and "du" into "de"; `generic` turns an empty article into "le"."""
        determiner = owner if self.determiner == "own" else self.determiner
        return Pair(self._english(determiner), self._french(determiner, negated, generic))

    def subject(self) -> Subject:
        """The phrase as the subject of a clause."""
        pair = self.pair()
        # An animal could be "it" or "he", so it owns nothing.
        single = "" if self.noun.kind == "animal" else "her" if self.noun.feminine else "his"
        owner = "their" if self.plural else single
        return Subject(pair.en, pair.fr, PLURAL if self.plural else SINGULAR, self.noun.feminine, owner)

    def _english(self, determiner: str) -> str:
        order = sorted(self.adjectives, key=lambda adjective: not adjective.before)
        body = [adjective.en for adjective in order] + [self.noun.en_plural if self.plural else self.noun.en]
        if determiner == "a":
            determiner = "an" if re.match(r"[aeio]|u(?!s)|honest", body[0]) else "a"
        elif determiner == "this" and self.plural:
            determiner = "these"
        return " ".join([determiner, *body]).strip()

    def _french(self, determiner: str, negated: bool, generic: bool) -> str:
        noun = self.noun.fr_plural if self.plural else self.noun.fr
        before = [adjective for adjective in self.adjectives if adjective.before]
        after = [adjective for adjective in self.adjectives if not adjective.before]
        body = [agree(adjective, self.noun.feminine, self.plural, noun) for adjective in before] + [noun]
        body += [agree(adjective, self.noun.feminine, self.plural) for adjective in after]
        article = self._article(determiner, body[0], negated, generic)
        if article == "des" and before:
            article = "de"
        return " ".join([article, *body])

    def _article(self, determiner: str, following: str, negated: bool, generic: bool) -> str:
        gender = 2 if self.plural else int(self.noun.feminine)
        definite = ("le", "la", "les")[gender]
        if determiner == "the" or (determiner == "" and generic):
            return definite
        if determiner in ("a", ""):
            indefinite = ("un", "une", "des")[gender] if determiner or self.plural else f"de {definite}"
            return "de" if negated else indefinite
        if determiner == "this":
            return "cet" if gender == 0 and begins_with_vowel(following) else ("ce", "cette", "ces")[gender]
        if determiner == "which":
            return inflect("quel", "quelle", self.noun.feminine, self.plural)
        if determiner in POSSESSIVES:
            # Feminine nouns take "mon", "son" before a vowel too: mon amie, son école.
            masculine = gender == 1 and begins_with_vowel(following)
            return POSSESSIVES[determiner][0 if masculine else gender]
        return NUMBERS[determiner]


def begins_with_vowel(word: str) -> bool:
    """Whether French elides before `word`: a vowel or a mute h, not an aspirated one."""
    word = word.lower()
    return word == "y" or (word[0] in VOWELS + "h" and not word.startswith(ASPIRATED))


def inflect(masculine: str, feminine: str, is_feminine: bool, plural: bool) -> str:
    """The form that agrees in gender and number."""
    form = feminine if is_feminine else masculine
    return plural_fr(form) if plural else form


def agree(adjective: Adjective, feminine: bool, plural: bool, following: str = "") -> str:
    """The French form of an adjective; before a `following` noun with a vowel, "beau" becomes "bel"."""
    masculine, *liaison, feminine_form = adjective.fr.split()
    if adjective.invariable:
        return masculine
    if liaison and following and not feminine and not plural and begins_with_vowel(following):
        return liaison[0]
    return inflect(masculine, feminine_form, feminine, plural)


def join(*parts: Pair | str) -> Pair:
    """The parts joined by spaces, without empty ones."""
    en, fr = zip(*parts, strict=True)
    return Pair(" ".join(filter(None, en)), " ".join(filter(None, fr)))


def sentence(pair: Pair, mark: str = ".") -> Pair:
    """A complete sentence: words merged, capitalized, ending in `mark` ("." or "?")."""
    fr = merge(pair.fr).replace("_", " ")
    space = NO_BREAK_SPACE if mark == "?" else ""
    return Pair(pair.en[0].upper() + pair.en[1:] + mark, fr[0].upper() + fr[1:] + space + mark)


def merge(fr: str) -> str:
    """Apply French contractions (du, aux) and elisions (l', qu', s'il)."""
    words = fr.split(" ")
    merged = ""
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
            continue
        following, *rest = [*words[index + 1 :], "."]
        elides = following == "le" and rest and begins_with_vowel(rest[0])
        if (word, following) in CONTRACTED and not elides:
            merged += CONTRACTED[word, following] + " "
            skip = True
        elif (word in ELIDED and begins_with_vowel(following)) or (word == "si" and re.match("ils?$", following)):
            merged += word[:-1] + "'"
        else:
            merged += word + " "
    return merged.strip()


def third_person(verb: str) -> str:
    """The English -s form of a base form."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


def english_clause(subject: Subject, verb: Verb, tense: str, adverb: str = "", question: bool = False) -> str:
    """Subject and verb in English, with "do" if a negation or a question requires it."""
    base, *particle = verb.en.split(" ", 1)
    person = {SPEAKER: 0, SINGULAR: 1}.get(subject.person, 2)
    auxiliary, main = "", [verb.en]
    if tense == "future":
        auxiliary = "will"
    elif verb.en in AUXILIARIES:
        auxiliary, main = AUXILIARIES[verb.en][tense][person], []
    elif question or adverb == "not":
        auxiliary = "did" if tense == "past" else ("do", "does", "do")[person]
    elif tense == "past":
        main = [verb.en_past]
    elif person == 1:
        main = [third_person(base), *particle]
    order = [auxiliary, subject.en, adverb] if question else [subject.en, auxiliary, adverb]
    return " ".join(filter(None, [*order, *main])).replace("can not", "cannot")


def conjugate(verb: Verb, person: int, tense: str) -> str:
    """The French simple form: présent, imparfait for the past, or futur."""
    if tense == "present":
        return verb.present[person]
    if tense == "future":
        return verb.future + FUTURE[person]
    stem = "ét" if verb.fr == "être" else verb.present[WE].removesuffix("ons")
    return stem + IMPERFECT[person]


def french_clause(
    subject: Subject,
    verb: Verb,
    tense: str,
    adverb: str = "",
    clitic: str = "",
    agreement: tuple[bool, bool] | None = None,
) -> str:
    """Subject and verb in French; `clitic` is an object pronoun.

    `agreement` is (feminine, plural) of an object before the verb, with which the participle agrees.
    """
    person = subject.person
    if verb.reflexive:
        clitic = REFLEXIVE[person]
    participle = ""
    if tense == "past" and not verb.stative:
        with_etre = verb.etre or verb.reflexive
        finite = (ETRE if with_etre else AVOIR)[person]
        if with_etre:
            agreement = (subject.feminine, person in (WE, PLURAL))
        participle = inflect(verb.participle, verb.participle + "e", *(agreement or (False, False)))
    else:
        finite = conjugate(verb, person, tense)
    ne = "ne" if adverb in NEGATIVE else ""
    words = [subject.fr, ne, clitic, finite, ADVERBS.get(adverb, ""), participle, verb.preposition]
    return " ".join(filter(None, words))


def clause(
    subject: Subject,
    verb: Verb,
    tense: str,
    adverb: str = "",
    pronoun: Pair | None = None,
    agreement: tuple[bool, bool] | None = None,
) -> Pair:
    """A statement up to its object; `pronoun` is an object pronoun, after the verb in English."""
    en, fr = pronoun or Pair()
    en = f"{english_clause(subject, verb, tense, adverb)} {en}".strip()
    return Pair(en, french_clause(subject, verb, tense, adverb, fr, agreement))


def question(
    subject: Subject,
    verb: Verb,
    tense: str,
    adverb: str = "",
    word: Pair | None = None,
    agreement: tuple[bool, bool] | None = None,
) -> Pair:
    """A question up to its object, starting with the interrogative `word` if given."""
    fr = french_clause(subject, verb, tense, adverb, agreement=agreement)
    en = english_clause(subject, verb, tense, adverb, question=True)
    return join(word or Pair(), Pair(en, f"est-ce que {fr}"))


def infinitive(subject: Subject, verb: Verb, to: Pair, pronoun: Pair | None = None) -> Pair:
    """The infinitive of the verb after `to` (to/pour, to/nothing, nothing/nothing); pronouns agree with `subject`."""
    en, fr = pronoun or Pair()
    if verb.reflexive:
        fr = REFLEXIVE[subject.person]
    return join(to, Pair(f"{verb.en} {en}".strip(), f"{fr} {verb.fr} {verb.preposition}".strip()))


def relative(head: NounPhrase, link: Pair) -> Subject:
    """The relative pronoun `link` (who/qui) as a subject that agrees with `head`."""
    return replace(head.subject(), en=link.en, fr=link.fr)


class Core(NamedTuple):
    """The parts of a clause, which may become a statement or a question; `rest` follows the verb."""

    subject: Subject
    verb: Verb
    tense: str
    adverb: str
    rest: Pair

    def statement(self) -> Pair:
        return join(clause(*self[:4]), self.rest)

    def question(self, word: Pair | None = None) -> Pair:
        return join(question(*self[:4], word), self.rest)
