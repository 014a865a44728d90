"""The sentence patterns of the embedded corpus, from statements to relative clauses."""

from collections.abc import Callable
from dataclasses import replace

from . import lexicon
from .grammar import (
    OBJECT_PRONOUNS,
    PRONOUNS,
    SINGULAR,
    TENSES,
    WHO,
    Core,
    NounPhrase,
    Pair,
    Subject,
    agree,
    begins_with_vowel,
    clause,
    conjugate,
    infinitive,
    join,
    question,
    relative,
    sentence,
)
from .lexicon import BE, CAN, GO, HAVE, KNOW, MUST, RETURN, WANT, Verb
from .phrases import ACTIONS, BY_KIND, PREDICATIVE, THINGS, VERBS, Phrases

# How often each pattern is drawn; the names are methods of `Patterns`.
WEIGHTS = {
    "statement": 28,
    "description": 12,
    "object_pronoun": 7,
    "feeling": 3,
    "age": 4,
    "location": 4,
    "existence": 4,
    "modal": 9,
    "yes_or_no": 6,
    "adverbial_question": 5,
    "what": 2,
    "which": 7,
    "who": 3,
    "coordination": 5,
    "when": 3,
    "if_": 3,
    "that": 5,
    "object_relative": 7,
    "subject_relative": 4,
    "comparison": 8,
    "purpose": 4,
    "weather": 2,
}
NEVER_ME = {"I": ("me", "us"), "we": ("me", "us"), "you": ("you",)}
# "To be hungry" is "avoir faim", "to be ten years old" "avoir dix ans".
BE_AVOIR = replace(HAVE, en="be", en_past="was")
UNCOUNTED = {"kin", "staple", "drink"}
# The verbs of action whose object can be counted.
EVENTS = [v for v in lexicon.TRANSITIVE if set(v.objects) - UNCOUNTED]
CONNECTIVES = [(" because", " parce que"), (", but", ", mais")]
INTERROGATIVES = [("where", "où"), ("when", "quand"), ("why", "pourquoi")]


class Patterns(Phrases):
    """The sentence patterns. Each method draws its words and returns the sentence without a capital or a mark."""

    def draw(self) -> tuple[Pair, set[tuple[str, ...]]]:
        """One finished sentence and the combinations in it."""
        self.combinations = set()
        (self.pattern,) = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        pair = getattr(self, self.pattern)(self.tense())
        asks = self.pattern in ("yes_or_no", "adverbial_question", "what", "which", "who")
        return sentence(pair, "?" if asks else "."), self.combinations

    def tense(self) -> str:
        # The past has one participle for all persons, the other tenses one form for each.
        return self.rng.choices(TENSES, (5, 3, 5))[0]

    def perfect(self, tense: str) -> str:
        """The past in half of the cases: only there does a participle agree with its object."""
        return "past" if self.chance(0.5) else tense

    def main(self, core: Core) -> Core:
        """Record the combination of the main clause."""
        self.combinations.add((self.pattern, core.tense, core.adverb, str(core.subject.person)))
        return core

    def other(self, clause_of: Callable[[], Core]) -> Core:
        """A second clause without "they", which would be "elles" if the first one names women."""
        before = self.combinations
        while True:
            self.combinations = set(before)
            core = clause_of()
            if core.subject.en != "they":
                return core

    def statement(self, tense: str) -> Pair:
        core = self.main(self.action(tense, place=0.6))
        time = self.time(tense) if not core.adverb and self.chance(0.45) else Pair()
        return join(core.statement(), time)

    def description(self, tense: str) -> Pair:
        return self.main(self.quality(tense)).statement()

    def object_pronoun(self, tense: str) -> Pair:
        tense = self.perfect(tense)
        # "Drink" takes "it", which is "le" or "la" depending on an unknown noun.
        verbs = [verb for verb in [*lexicon.TRANSITIVE, *lexicon.LIKING, KNOW] if verb.objects != ("drink",)]
        verb, subject = self.actor(verbs, tense)
        core = self.main(Core(subject, verb, tense, self.adverb(verb, tense), Pair()))
        return self.with_pronoun(core)

    def with_pronoun(self, core: Core) -> Pair:
        """The clause with an object pronoun of known gender and number in both languages."""
        subject, verb, tense, adverb, _ = core
        compound = tense == "past" and not verb.stative
        names = ["him", "her", "them"] if "person" in verb.objects else ["them"]
        if "person" in verb.objects and not compound:
            names += [name for name in ("me", "you", "us") if name not in NEVER_ME.get(subject.en, ())]
        # "L'" before a verb may mean "him" or "her"; before "avoir", the participle shows which.
        if not compound and begins_with_vowel(conjugate(verb, subject.person, tense)):
            names = [name for name in names if name not in ("him", "her")]
        pronoun, agreement = OBJECT_PRONOUNS[self.pick(names)]
        return clause(subject, verb, tense, adverb, pronoun, agreement)

    def feeling(self, tense: str) -> Pair:
        state = Pair(*self.entry(lexicon.STATES))
        return self.main(Core(self.subject(HAVE, tense), BE_AVOIR, tense, self.adverb(HAVE, tense), state)).statement()

    def age(self, tense: str) -> Pair:
        number, nombre = self.entry(lexicon.NUMBERS)
        age = Pair(f"{number} years old", f"{nombre} ans")
        subject = self.named() if self.chance(0.4) else self.pick(PRONOUNS)
        return self.main(Core(subject, BE_AVOIR, tense, "", age)).statement()

    def location(self, tense: str) -> Pair:
        if self.chance(0.5):
            subject, place = self.subject(BE, tense), self.place()
        else:
            subject = self.phrase(self.noun(THINGS), "the the my your", 0.7).subject()
            place = self.spot()
        return self.main(Core(subject, BE, tense, self.adverb(BE, tense), place)).statement()

    def existence(self, tense: str) -> Pair:
        living = self.chance(0.5)
        noun = self.noun(("animal", "person") if living else (*THINGS, "food"))
        place = self.place() if living else self.spot()
        phrase = self.phrase(noun, "a some number")
        english = {"present": ("is", "are"), "past": ("was", "were"), "future": ("will be", "will be")}[tense]
        there = Pair(f"there {english[phrase.plural]}", f"il y {conjugate(HAVE, SINGULAR, tense)}")
        if self.chance(0.75):
            return join(there, phrase.pair(), place)
        none = replace(phrase, determiner="").pair(negated=True)
        return join(Pair(f"{there.en} no", f"{there.fr.replace('il', 'il ne')} pas"), none, place)

    def modal(self, tense: str) -> Pair:
        verb = self.pick({"present": (WANT, CAN, MUST), "past": (WANT, CAN)}.get(tense, (WANT,)))
        action = self.pick(ACTIONS)
        subject = self.rarest(lambda: self.subject(action, "present"), lambda who: (verb.en, tense, who.person))
        adverb = self.pick(("", "", "", "not", "no longer" if verb is not MUST else "not"))
        self.main(Core(subject, verb, tense, adverb, Pair()))
        to = Pair("to") if verb is WANT else Pair()
        modal = clause(subject, verb, tense, adverb)
        if "person" in action.objects and not action.preposition and self.chance(0.3):
            elides = begins_with_vowel(action.fr)
            pronoun, _ = OBJECT_PRONOUNS["them" if elides else self.pick(("him", "her", "them"))]
            return join(modal, infinitive(subject, action, to, pronoun))
        return join(modal, infinitive(subject, action, to), self.complement(subject, action, adverb, 0.5))

    def yes_or_no(self, tense: str) -> Pair:
        return self.main(self.simple(tense, "")).question()

    def adverbial_question(self, tense: str) -> Pair:
        word = Pair(*self.pick(INTERROGATIVES))
        verbs = [*lexicon.TRANSITIVE, *lexicon.TO_PERSON, *lexicon.INTRANSITIVE]
        return self.main(self.action(tense, "", verbs)).question(word)

    def what(self, tense: str) -> Pair:
        verb, subject = self.actor([verb for verb in lexicon.TRANSITIVE if "person" not in verb.objects], tense)
        core = self.main(Core(subject, verb, tense, "", Pair()))
        return core.question(Pair("what", "que"))

    def which(self, tense: str) -> Pair:
        """A question about the object with "which" or "how many"."""
        tense = self.perfect(tense)
        verb, head = self.counted("which", tense)
        word = head.pair()
        if head.plural and self.chance(0.5):
            word = join(Pair("how many", "combien"), replace(head, determiner="").pair(negated=True))
        core = self.main(Core(self.subject(verb, tense), verb, tense, "", Pair()))
        return question(*core[:4], word, (head.noun.feminine, head.plural))

    def counted(self, determiners: str, tense: str) -> tuple[Verb, NounPhrase]:
        """A verb and a countable object that is not kin."""

        def draw() -> tuple[Verb, NounPhrase]:
            verb = self.pick(EVENTS)
            kinds = tuple(kind for kind in verb.objects if kind not in UNCOUNTED)
            noun = self.noun(kinds)
            self.combinations.add(("object", verb.en, noun.en))
            return verb, NounPhrase(noun, self.pick(determiners.split()), self.chance(0.5))

        def form(drawn: tuple[Verb, NounPhrase]) -> tuple[object, ...]:
            verb, phrase = drawn
            return "object", verb.en, tense, phrase.noun.feminine, phrase.plural

        return self.rarest(draw, form)

    def who(self, tense: str) -> Pair:
        verb = self.pick(VERBS)
        # "Who read" can only be the past, since the present is "who reads".
        return Core(WHO, verb, tense, "", self.complement(WHO, verb, "", 0.7)).statement()

    def coordination(self, tense: str) -> Pair:
        first = self.main(self.simple(tense)).statement()
        en, fr = self.pick(CONNECTIVES)
        return join(Pair(first.en + en, first.fr + fr), self.other(lambda: self.simple(tense)).statement())

    def when(self, tense: str) -> Pair:
        """After "when", English uses the present and French the future."""
        tense = "future" if tense == "future" else "present"
        main = self.main(self.simple(tense)).statement()
        if self.chance(0.15) and tense == "future":
            *_, en, _, _, fr = self.pick(lexicon.WEATHER)
            return join(main, Pair("when", "quand"), Pair(en, fr))
        then = self.other(lambda: self.action(tense, ""))
        en = then._replace(tense="present").statement().en
        return join(main, Pair("when", "quand"), Pair(en, then.statement().fr))

    def if_(self, _: str) -> Pair:
        condition = self.action("present").statement()
        if self.chance(0.25):
            _, _, _, en, fr, _, _ = self.pick(lexicon.WEATHER)
            condition = Pair(en, fr)
        main = self.main(self.other(lambda: self.simple("future"))).statement()
        return join(Pair("if", "si"), Pair(condition.en + ",", condition.fr + ","), main)

    def that(self, tense: str) -> Pair:
        verb = self.pick(lexicon.OPINIONS)
        tense = "future" if verb.en == "hope" else tense
        self.main(Core(speaker := self.subject(verb, "present"), verb, "present", "", Pair()))
        said = self.other(lambda: self.simple(tense))
        return join(clause(speaker, verb, "present"), Pair("that", "que"), said.statement())

    def object_relative(self, tense: str) -> Pair:
        """The cake that you prepared is good."""
        tense = self.perfect(tense)
        verb, head = self.counted("the this", tense)
        noun = head.noun
        subject = self.subject(verb, tense)
        acted = clause(subject, verb, tense, "", agreement=(noun.feminine, head.plural))
        adjective = self.pick([a for a in PREDICATIVE if noun.kind in a.kinds])
        self.combinations.add(("adjective", noun.en, adjective.en))
        quality = Pair(adjective.en, agree(adjective, noun.feminine, head.plural))
        topic = join(head.pair(), Pair("that", "que"), acted)
        whole = replace(head.subject(), en=topic.en, fr=topic.fr)
        return self.main(Core(whole, BE, "present", "", quality)).statement()

    def subject_relative(self, tense: str) -> Pair:
        """I know the girl who sings, or the girl who sings knows me."""
        head = NounPhrase(self.noun(("person",)), "the", self.chance(0.35))
        verb = self.pick([verb for verb in ACTIONS if verb.en != verb.en_past])
        who = relative(head, Pair("who", "qui"))
        doing = Core(who, verb, tense, "", self.complement(who, verb, "", 0.5)).statement()
        described = join(head.pair(), doing)
        governing = self.pick([verb for verb in [*lexicon.TRANSITIVE, KNOW] if "person" in verb.objects])
        if self.chance(0.5):
            subject = self.subject(governing, "present")
            self.combinations.add(("object", governing.en, head.noun.en))
            return self.main(Core(subject, governing, "present", "", described)).statement()
        subject = replace(head.subject(), en=described.en, fr=described.fr)
        return self.with_pronoun(self.main(Core(subject, governing, "present", "", Pair())))

    def comparison(self, tense: str) -> Pair:
        comparable = [adjective for adjective in lexicon.ADJECTIVES if adjective.comparative]
        adjective = self.rarest(lambda: self.pick(comparable), lambda adjective: (adjective.comparative,))
        kind = self.pick(adjective.kinds)
        one, other = self.rng.sample(BY_KIND[kind], 2)
        degrees = [(f"{adjective.comparative} than", "plus")] * 3 + [(f"as {adjective.en} as", "aussi")]
        if adjective.comparative.startswith("more"):
            degrees.append((f"less {adjective.en} than", "moins"))
        en, degree = self.pick(degrees)
        self.combinations.add(("adjective", one.en, adjective.en))
        determiners = "my your" if kind == "kin" else "the the this"
        phrase, standard = self.phrase(one, determiners, 1.0), self.phrase(other, determiners, 1.0)
        quality = Pair(en, f"{degree} {agree(adjective, one.feminine, phrase.plural)} que")
        return self.main(Core(phrase.subject(), BE, tense, "", join(quality, standard.pair()))).statement()

    def purpose(self, tense: str) -> Pair:
        verb = self.pick((GO, RETURN))
        action = self.pick([*lexicon.TRANSITIVE, *lexicon.TO_PERSON])
        subject: Subject = self.subject(verb, tense)
        goal = join(infinitive(subject, action, Pair("to", "pour")), self.complement(subject, action, ""))
        return join(self.main(Core(subject, verb, tense, "", self.journey(verb))).statement(), goal)

    def weather(self, tense: str) -> Pair:
        weather = self.pick(lexicon.WEATHER)
        index = TENSES.index(tense)
        time = Pair() if tense == "present" else self.time(tense)
        return join(Pair(weather[index], weather[4 + index]), self.town("in", "à"), time)
