"""Random phrases of the embedded corpus: nouns, people, places, times and clauses that make sense.

`Phrases` draws words that go together and records their combinations.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from . import lexicon
from .grammar import BESIDE, NEGATIVE, PLURAL, PRONOUNS, SINGULAR, Core, NounPhrase, Pair, Subject, agree, join
from .lexicon import BE, COME, GO, HAVE, KNOW, LIVE, RETURN, Adjective, Noun, Verb

BY_KIND: dict[str, list[Noun]] = defaultdict(list)
for _noun in lexicon.NOUNS:
    BY_KIND[_noun.kind].append(_noun)
ACTIONS = [*lexicon.TRANSITIVE, *lexicon.TO_PERSON, *lexicon.GIVING, *lexicon.INTRANSITIVE, GO, RETURN, COME]
# Verbs of state are listed three times, since only they have an imparfait.
VERBS = [*ACTIONS, *[*lexicon.LIKING, KNOW, HAVE, LIVE] * 3]
PEOPLE = ("person", "kin")
THINGS = ("thing", "dish", "clothes")
# The adjectives that can precede or follow a noun of each kind.
ATTRIBUTIVE = {kind: [a for a in lexicon.ADJECTIVES if kind in a.kinds and not a.predicative] for kind in BY_KIND}
PREDICATIVE = [adjective for adjective in lexicon.ADJECTIVES if not adjective.attributive]
PERSONAL = [adjective for adjective in PREDICATIVE if "person" in adjective.kinds]
# Adjectives of persons whose spelling is the same for both genders.
EPICENE = [adjective for adjective in PERSONAL if len(set(adjective.fr.split())) == 1]


# First and second persons are listed twice: each has its own verb forms, while the others share two.
_DRAWN_PRONOUNS = [*PRONOUNS[:3] * 2, *PRONOUNS[3:]]


@cache
def _of_kinds(kinds: tuple[str, ...]) -> list[Noun]:
    return [noun for kind in kinds for noun in BY_KIND[kind]]


def _agreement(drawn: tuple[Adjective, NounPhrase]) -> tuple[object, ...]:
    adjective, phrase = drawn
    return adjective.en, phrase.noun.feminine, phrase.plural


Drawn = TypeVar("Drawn")


class Phrases:
    """Draws random phrases; `combinations` belong to the current sentence."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.combinations: set[tuple[str, ...]] = set()
        self._uses: Counter[tuple[object, ...]] = Counter()

    def pick(self, options: Sequence[Drawn]) -> Drawn:
        return options[int(self.rng.random() * len(options))]

    def rarest(self, draw: Callable[[], Drawn], form: Callable[[Drawn], tuple[object, ...]]) -> Drawn:
        """The draw of three whose `form` was used least, so that every word form occurs often enough."""
        before = self.combinations
        candidates = []
        for _ in range(3):
            self.combinations = set()
            candidates.append((draw(), self.combinations))
        drawn, combinations = min(candidates, key=lambda candidate: self._uses[form(candidate[0])])
        self._uses[form(drawn)] += 1
        # The combinations of rejected draws are in no sentence.
        self.combinations = before | combinations
        return drawn

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def entry(self, table: dict[str, Drawn]) -> tuple[str, Drawn]:
        return self.pick(tuple(table.items()))

    def noun(self, kinds: tuple[str, ...]) -> Noun:
        return self.rarest(lambda: self.pick(_of_kinds(kinds)), lambda noun: (noun.en,))

    def phrase(self, noun: Noun, determiners: str, plain: float = 0.68) -> NounPhrase:
        """The noun with one of the `determiners` ("some" becomes no word in English), rarely with an adjective."""
        determiner = self.pick(determiners.split())
        several = determiner in ("some", "number") or (determiner != "a" and self.chance(0.4))
        plural = noun.number == "both" and several
        if determiner == "number":
            determiner = self.pick(list(lexicon.NUMBERS)[:11]) if plural else "the"
        elif determiner == "some":
            determiner = ""
        fitting = ATTRIBUTIVE[noun.kind]
        if self.chance(plain) or not fitting:
            return NounPhrase(noun, determiner, plural)
        word = noun.fr_plural if plural else noun.fr
        adjective = self.rarest(lambda: self.pick(fitting), lambda a: (agree(a, noun.feminine, plural, word),))
        self.combinations.add(("adjective", noun.en, adjective.en))
        return NounPhrase(noun, determiner, plural, (adjective,))

    def someone(self, plain: float = 0.8) -> Subject:
        """A person, by name or by description."""
        if self.chance(0.3):
            return self.named()
        noun = self.noun(PEOPLE)
        return self.phrase(noun, "my your" if noun.kind == "kin" else "the the this", plain).subject()

    def named(self) -> Subject:
        feminine = self.chance(0.5)
        name = self.pick(lexicon.WOMEN if feminine else lexicon.MEN)
        return Subject(name, name, SINGULAR, feminine, "her" if feminine else "his")

    def couple(self) -> Subject:
        """Two people by their names."""
        first, second = self.rng.sample(lexicon.WOMEN if self.chance(0.5) else lexicon.MEN + lexicon.WOMEN, 2)
        feminine = {first, second} <= set(lexicon.WOMEN)
        return Subject(f"{first} and {second}", f"{first} et {second}", PLURAL, feminine, "their")

    def actor(self, verbs: Sequence[Verb], tense: str) -> tuple[Verb, Subject]:
        """One of the verbs, and a subject for it."""

        def draw() -> tuple[Verb, Subject]:
            verb = self.pick(verbs)
            return verb, self.subject(verb, tense)

        def form(drawn: tuple[Verb, Subject]) -> tuple[object, ...]:
            verb, subject = drawn
            return verb.en, tense, subject.person, subject.feminine

        return self.rarest(draw, form)

    def subject(self, verb: Verb, tense: str) -> Subject:
        """A subject for `verb`; the spelling of the verb form must not depend on an unknown gender."""
        agreeing = tense == "past" and (verb.etre or verb.reflexive)
        if self.chance(0.3 if agreeing else 0.64):
            found = self.pick(PRONOUNS[3:] if agreeing else _DRAWN_PRONOUNS)
        elif self.chance(0.4 if agreeing else 0.12):
            found = self.couple()
        elif verb.animals and self.chance(0.4):
            found = self.phrase(self.noun(("animal",)), "the the this my your number", 0.8).subject()
        else:
            found = self.someone()
        # "I read" would be present or past; "he read" can only be past.
        return self.named() if tense == "past" and verb.en == verb.en_past else found

    def adverb(self, verb: Verb, tense: str) -> str:
        if self.chance(0.6):
            return ""
        if verb.stative:
            return self.pick(("not", "not", "no longer"))
        habits = {"present": ("no longer", "often", "always", "sometimes"), "past": ("often",)}
        return self.pick(("not", "not", "not", "never", *habits.get(tense, ("no longer", "always"))))

    def object(self, verb: Verb) -> NounPhrase:
        noun = self.noun(verb.objects)
        self.combinations.add(("object", verb.en, noun.en))
        if noun.kind == "kin":
            return self.phrase(noun, "my your own own" if noun.number == "both" else "my your")
        if verb in lexicon.LIKING:
            return self.phrase(noun, "some some own this" if noun.kind != "animal" else "some own")
        if verb is KNOW or verb.preposition:
            return self.phrase(noun, "the this a" if verb.preposition else "the this")
        if noun.number == "mass":
            return self.phrase(noun, "the some some some own this")
        owned = noun.kind in ("text", "thing", "clothes", "vehicle", "furniture", "dish", "food")
        if verb is HAVE:
            return self.phrase(noun, "a a some number")
        return self.phrase(noun, "the the a a some this number" + (" own own my your" if owned else ""))

    def realise(self, phrase: NounPhrase, subject: Subject, verb: Verb, adverb: str) -> Pair:
        """An object that fits the clause: its possessive, and "de" after a negation."""
        if phrase.determiner == "own" and not subject.owner:
            phrase = replace(phrase, determiner="this" if phrase.noun.kind != "kin" else "my")
        negated = adverb in NEGATIVE and not verb.preposition
        return phrase.pair(subject.owner, negated, verb in lexicon.LIKING)

    def complement(self, subject: Subject, verb: Verb, adverb: str, place: float = 0.0) -> Pair:
        """The object of the verb; a verb without objects gets a place with probability `place`."""
        if verb in (GO, RETURN, COME, LIVE):
            return self.journey(verb)
        if verb.objects:
            if "person" in verb.objects and self.chance(0.2):
                name = self.pick([name for name in lexicon.MEN + lexicon.WOMEN if name not in subject.en])
                self.combinations.add(("object", verb.en, name))
                return Pair(name, name)
            found = self.realise(self.object(verb), subject, verb, adverb)
            if verb not in lexicon.GIVING:
                return found
            receiver = self.someone(1.0)
            return join(found, Pair("to", "à"), Pair(receiver.en, receiver.fr))
        return self.place() if verb.en not in ("leave", "walk") and self.chance(place) else Pair()

    def spot(self) -> Pair:
        """The place of a thing."""
        if self.chance(0.4):
            return join(Pair("in", "dans"), self.landmark(("container",)))
        return join(Pair(*self.pick([("on", "sur"), ("under", "sous")])), self.landmark(("furniture",)))

    def landmark(self, kinds: tuple[str, ...]) -> Pair:
        return NounPhrase(self.noun(kinds), self.pick(("the", "the", "this")), self.chance(0.2)).pair()

    def place(self) -> Pair:
        """The place of an action."""
        chosen = self.rng.random()
        if chosen < 0.15:
            return self.town("in", "à")
        if chosen < 0.25:
            country, (french, _) = self.entry(lexicon.COUNTRIES)
            return Pair(f"in {country}", french)
        if chosen < 0.3:
            return Pair("at home", "à la maison")
        if chosen < 0.5:
            return join(Pair("in", "dans"), self.landmark(("area",)))
        if chosen < 0.75:
            return join(Pair("at", "à"), self.landmark(("venue",)))
        return join(Pair(*self.entry(BESIDE)), self.landmark(("building", "nature", "venue")))

    def town(self, *preposition: str) -> Pair:
        return join(Pair(*preposition), Pair(*self.entry(lexicon.CITIES)))

    def journey(self, verb: Verb) -> Pair:
        """The destination of a verb of motion; the origin for "come", the place for "live"."""
        to, of = {COME: ("from", "de"), LIVE: ("in", "à")}.get(verb, ("to", "à"))
        chosen = self.rng.random()
        if chosen < 0.4:
            return self.town(to, of)
        if chosen < 0.6 or verb is LIVE:
            country, french = self.entry(lexicon.COUNTRIES)
            return Pair(f"{to} {country}", french[verb is COME])
        return join(Pair(to, of), self.landmark(("venue",)))

    def time(self, tense: str) -> Pair:
        """A time expression that fits the tense."""
        chosen = self.rng.random()
        if chosen < 0.45:
            return Pair(*self.entry(lexicon.TIMES[tense]))
        day, jour = self.entry(lexicon.DAYS)
        if chosen < 0.65:
            return {
                "present": Pair(f"on {day}s", f"le {jour}"),
                "past": Pair(f"last {day}", f"{jour} dernier"),
                "future": Pair(f"next {day}", f"{jour} prochain"),
            }[tense]
        if chosen < 0.8:
            season, saison = self.entry(lexicon.SEASONS)
            return Pair(f"in {season}", saison)
        hour, heure = self.pick(list(lexicon.NUMBERS.items())[:10])
        return Pair(f"at {hour} o'clock", f"à {heure} heures")

    def action(self, tense: str, adverb: str | None = None, verbs: list[Verb] = VERBS, place: float = 0.0) -> Core:
        """A clause about an action; by default with any adverb that the verb allows."""
        verb, subject = self.actor(verbs, tense)
        adverb = self.adverb(verb, tense) if adverb is None else adverb
        return Core(subject, verb, tense, adverb, self.complement(subject, verb, adverb, place))

    def quality(self, tense: str, adverb: str | None = None) -> Core:
        """A clause that assigns a quality."""
        adverb = self.adverb(BE, tense) if adverb is None else adverb
        if self.chance(0.25):
            subject = self.pick(PRONOUNS)
            adjective = self.pick(EPICENE if subject.en in ("I", "you", "we") else PERSONAL)
        elif self.chance(0.3):
            subject = self.couple() if self.chance(0.5) else self.named()
            adjective = self.pick(PERSONAL)
        else:
            adjective, phrase = self.rarest(self.characterized, _agreement)
            subject = phrase.subject()
        plural = subject.person == PLURAL or subject.en == "we"
        return Core(subject, BE, tense, adverb, Pair(adjective.en, agree(adjective, subject.feminine, plural)))

    def characterized(self) -> tuple[Adjective, NounPhrase]:
        """A quality and its bearer."""
        adjective = self.pick(PREDICATIVE)
        noun = self.pick(_of_kinds(adjective.kinds))
        self.combinations.add(("adjective", noun.en, adjective.en))
        return adjective, self.phrase(noun, "my your" if noun.kind == "kin" else "the the this", 1.0)

    def simple(self, tense: str, adverb: str | None = None) -> Core:
        """A short clause of any kind."""
        return self.quality(tense, adverb) if self.chance(0.25) else self.action(tense, adverb)
