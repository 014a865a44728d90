"""The embedded corpus: its French, its splits and its held-out combinations."""

import hashlib
import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import pytest
from datasets import Translation

from glossa.data.embedded import corpus as embedded
from glossa.data.embedded import lexicon
from glossa.data.embedded.corpus import embedded_corpus, generate
from glossa.data.embedded.grammar import (
    OBJECT_PRONOUNS,
    PRONOUNS,
    WHO,
    NounPhrase,
    Pair,
    Subject,
    agree,
    clause,
    infinitive,
    join,
    question,
    relative,
    sentence,
)
from glossa.data.embedded.patterns import BE_AVOIR, Patterns

NOUNS = {noun.en: noun for noun in lexicon.NOUNS}
ADJECTIVES = {adjective.en: adjective for adjective in lexicon.ADJECTIVES}
_GROUPS = [*lexicon.TRANSITIVE, *lexicon.LIKING, *lexicon.TO_PERSON, *lexicon.GIVING, *lexicon.INTRANSITIVE]
VERBS = {verb.en: verb for verb in [*_GROUPS, lexicon.GO, lexicon.COME, lexicon.RETURN, lexicon.LIVE]}
THINK = lexicon.OPINIONS[0]
BE, HAVE, KNOW, CAN, MUST, WANT = (getattr(lexicon, n) for n in ("BE", "HAVE", "KNOW", "CAN", "MUST", "WANT"))
ME, YOU, WE, HE, SHE, THEY = PRONOUNS
MARIE = Subject("Marie", "Marie", 1, True, "her")
SISTERS = Subject("Marie and Alice", "Marie et Alice", 4, True, "their")
NOTHING = BARE = Pair()
TO, IN_ORDER_TO = Pair("to"), Pair("to", "pour")
NBSP = "\u00a0"


def np(determiner, noun, *adjectives, plural=False):
    return NounPhrase(NOUNS[noun], determiner, plural, tuple(ADJECTIVES[a] for a in adjectives))


def nps(determiner, noun, *adjectives):
    return np(determiner, noun, *adjectives, plural=True)


def say(subject, verb, tense, adverb="", rest=NOTHING):
    """A statement; `verb` is an English infinitive or a `Verb`."""
    verb = VERBS.get(verb, verb)
    subject = subject.subject() if isinstance(subject, NounPhrase) else subject
    if isinstance(rest, NounPhrase):
        negated = adverb in ("not", "never", "no longer") and not verb.preposition
        rest = rest.pair(subject.owner, negated, verb in lexicon.LIKING)
    return join(clause(subject, verb, tense, adverb), rest)


def quality(subject, tense, adjective, feminine=False, plural=False, adverb=""):
    return say(subject, BE, tense, adverb, Pair(adjective, agree(ADJECTIVES[adjective], feminine, plural)))


def with_pronoun(subject, verb, tense, name, adverb=""):
    return clause(subject, VERBS[verb], tense, adverb, *OBJECT_PRONOUNS[name])


def ask(subject, verb, tense, word="", fr="", rest=NOTHING, agreement=None):
    subject = subject.subject() if isinstance(subject, NounPhrase) else subject
    return join(question(subject, VERBS.get(verb, verb), tense, "", Pair(word, fr), agreement), rest)


def at(en, fr, phrase=None):
    return join(Pair(en, fr), phrase.pair() if phrase else Pair())


def that_bought(head, subject, agreement):
    bought = clause(subject, VERBS["buy"], "past", agreement=agreement)
    return join(head.pair(), Pair("that", "que"), bought)


# fmt: off
STATEMENTS = [
    # Articles, elision, partitives and their negation.
    (say(HE, "eat", "present", "", np("", "bread")), "He eats bread.", "Il mange du pain."),
    (say(ME, "eat", "present", "not", np("", "bread")), "I do not eat bread.", "Je ne mange pas de pain."),
    (say(ME, "drink", "present", "", np("", "water")), "I drink water.", "Je bois de l'eau."),
    (say(WE, "eat", "present", "never", nps("", "orange")),
     "We never eat oranges.", "Nous ne mangeons jamais d'oranges."),
    (say(ME, "like", "present", "", np("", "honey")), "I like honey.", "J'aime le miel."),
    (say(np("the", "child"), "eat", "past", "", np("a", "bean")),
     "The child ate a bean.", "L'enfant a mangé un haricot."),
    (say(np("the", "owl"), "see", "present", "", np("the", "hero")),
     "The owl sees the hero.", "Le hibou voit le héros."),
    # Agreement and the place of the adjective, with its form before a vowel.
    (say(SHE, "buy", "future", "", nps("", "dress", "beautiful")),
     "She will buy beautiful dresses.", "Elle achètera de belles robes."),
    (say(ME, "see", "past", "", np("a", "bird", "beautiful")), "I saw a beautiful bird.", "J'ai vu un bel oiseau."),
    (say(ME, "see", "past", "", np("a", "owl", "old")), "I saw an old owl.", "J'ai vu un vieux hibou."),
    (say(HE, "see", "past", "", np("my", "uncle", "old")), "He saw my old uncle.", "Il a vu mon vieil oncle."),
    (say(HE, HAVE, "present", "", np("a", "computer", "new")), "He has a new computer.", "Il a un nouvel ordinateur."),
    (say(HE, HAVE, "present", "", nps("three", "horse", "white")),
     "He has three white horses.", "Il a trois chevaux blancs."),
    (say(SHE, "wear", "present", "", nps("", "shoe", "brown")),
     "She wears brown shoes.", "Elle porte des chaussures marron."),
    (say(WE, "sell", "past", "", nps("the", "jewel")), "We sold the jewels.", "Nous avons vendu les bijoux."),
    (quality(np("the", "key"), "future", "heavy", True), "The key will be heavy.", "La clé sera lourde."),
    (quality(nps("this", "story"), "past", "boring", True, True),
     "These stories were boring.", "Ces histoires étaient ennuyeuses."),
    (quality(np("the", "train"), "present", "late"), "The train is late.", "Le train est en retard."),
    # Demonstratives and possessives.
    (say(np("this", "man"), "laugh", "present"), "This man laughs.", "Cet homme rit."),
    (say(np("this", "hero"), "cry", "past"), "This hero cried.", "Ce héros a pleuré."),
    (say(np("this", "nurse"), "sleep", "future"), "This nurse will sleep.", "Cette infirmière dormira."),
    (say(SHE, "lose", "past", "", np("own", "scarf")), "She lost her scarf.", "Elle a perdu son écharpe."),
    (say(np("your", "mother"), "wash", "present", "", nps("own", "shirt")),
     "Your mother washes her shirts.", "Votre mère lave ses chemises."),
    (say(THEY, "invite", "present", "", np("own", "friend")), "They invite their friend.", "Ils invitent leur ami."),
    # Tenses: the two auxiliaries, agreement with être, imparfait of state, reflexives.
    (say(SHE, "go", "past", "", at("to", "à", np("the", "market"))),
     "She went to the market.", "Elle est allée au marché."),
    (say(SISTERS, "leave", "past", "", Pair("yesterday", "hier")),
     "Marie and Alice left yesterday.", "Marie et Alice sont parties hier."),
    (say(SHE, "wake up", "past", "not"), "She did not wake up.", "Elle ne s'est pas réveillée."),
    (say(WE, "get up", "present", "always"), "We always get up.", "Nous nous levons toujours."),
    (say(ME, "live", "past", "no longer", Pair("in Oslo", "à Oslo")),
     "I no longer lived in Oslo.", "Je n'habitais plus à Oslo."),
    (say(YOU, "send", "future", "", np("a", "letter")), "You will send a letter.", "Vous enverrez une lettre."),
    (say(nps("my", "niece"), "read", "past", "often", np("this", "novel")),
     "My nieces often read this novel.", "Mes nièces ont souvent lu ce roman."),
    # Contractions and places.
    (say(HE, "talk to", "present", "", nps("the", "child")), "He talks to the children.", "Il parle aux enfants."),
    (say(HE, "talk to", "present", "not", np("a", "doctor")),
     "He does not talk to a doctor.", "Il ne parle pas à un médecin."),
    (say(SHE, "come", "present", "", at("from Japan", "de le Japon")),
     "She comes from Japan.", "Elle vient du Japon."),
    (say(SHE, "come", "past", "", at("from", "de", np("the", "hospital"))),
     "She came from the hospital.", "Elle est venue de l'hôpital."),
    (say(ME, "work", "present", "", at("next to", "à côté de", np("the", "bridge"))),
     "I work next to the bridge.", "Je travaille à côté du pont."),
    (say(HE, "work", "future", "", at("near", "près de", nps("the", "tree"))),
     "He will work near the trees.", "Il travaillera près des arbres."),
    # Object pronouns.
    (with_pronoun(HE, "see", "past", "her"), "He saw her.", "Il l'a vue."),
    (with_pronoun(WE, "find", "past", "them", "not"), "We did not find them.", "Nous ne les avons pas trouvés."),
    (with_pronoun(SHE, "look for", "future", "me"), "She will look for me.", "Elle me cherchera."),
    (with_pronoun(THEY, "help", "present", "me", "no longer"), "They no longer help me.", "Ils ne m'aident plus."),
    # Modal verbs and purpose.
    (join(say(SHE, WANT, "present"), infinitive(SHE, VERBS["go to bed"], TO)),
     "She wants to go to bed.", "Elle veut se coucher."),
    (join(say(ME, CAN, "present", "not"), infinitive(ME, VERBS["sleep"], BARE)),
     "I cannot sleep.", "Je ne peux pas dormir."),
    (join(say(WE, MUST, "present"), infinitive(WE, VERBS["wait for"], BARE, OBJECT_PRONOUNS["them"][0])),
     "We must wait for them.", "Nous devons les attendre."),
    (join(say(THEY, CAN, "past", "no longer"), infinitive(THEY, VERBS["run"], BARE)),
     "They could no longer run.", "Ils ne pouvaient plus courir."),
    (join(say(HE, "return", "present"), Pair("to Paris", "à Paris"), infinitive(HE, VERBS["visit"], IN_ORDER_TO),
      np("a", "museum").pair()),
     "He returns to Paris to visit a museum.", "Il retourne à Paris pour visiter un musée."),
    # Feelings and ages take "avoir" in French.
    (say(ME, BE_AVOIR, "present", "", Pair("thirsty", "soif")), "I am thirsty.", "J'ai soif."),
    (say(MARIE, BE_AVOIR, "future", "", Pair("eighty years old", "quatre-vingts ans")),
     "Marie will be eighty years old.", "Marie aura quatre-vingts ans."),
    # Subordinate clauses.
    (join(say(ME, THINK, "present"), Pair("that", "que"), say(SHE, "work", "future")),
     "I think that she will work.", "Je pense qu'elle travaillera."),
    (join(Pair("if", "si"), say(HE, "sing", "present"), say(WE, "dance with", "future", "", np("the", "king"))),
     "If he sings we will dance with the king.", "S'il chante nous danserons avec le roi."),
    (join(say(HE, "smile", "present"), Pair("because", "parce que"), say(np("the", "actress"), "sing", "present")),
     "He smiles because the actress sings.", "Il sourit parce que l'actrice chante."),
    (join(that_bought(nps("the", "apple"), HE, (True, True)), Pair("are fresh", "sont fraîches")),
     "The apples that he bought are fresh.", "Les pommes qu'il a achetées sont fraîches."),
    (say(ME, KNOW, "present", "", join(np("the", "girl").pair(), say(relative(np("the", "girl"), Pair("who",
      "qui")), "arrive", "past"))),
     "I know the girl who arrived.", "Je connais la fille qui est arrivée."),
]

QUESTIONS = [
    (ask(np("the", "man"), "sleep", "present"), "Does the man sleep?", "Est-ce que l'homme dort ?"),
    (ask(HE, "eat", "past", rest=np("", "soup").pair()), "Did he eat soup?", "Est-ce qu'il a mangé de la soupe ?"),
    (ask(SHE, BE, "past", rest=Pair("tired", "fatiguée")), "Was she tired?", "Est-ce qu'elle était fatiguée ?"),
    (ask(YOU, "work", "present", "where", "où"), "Where do you work?", "Où est-ce que vous travaillez ?"),
    (ask(SHE, "arrive", "future", "when", "quand"), "When will she arrive?", "Quand est-ce qu'elle arrivera ?"),
    (ask(THEY, "eat", "present", "what", "que"), "What do they eat?", "Qu'est-ce qu'ils mangent ?"),
    (ask(YOU, "write", "past", "how many letters", "combien de lettres", agreement=(True, True)),
     "How many letters did you write?", "Combien de lettres est-ce que vous avez écrites ?"),
    (ask(HE, "choose", "past", *nps("which", "glove").pair(), agreement=(False, True)),
     "Which gloves did he choose?", "Quels gants est-ce qu'il a choisis ?"),
    (say(WHO, "open", "future", "", np("the", "door")), "Who will open the door?", "Qui ouvrira la porte ?"),
]

# fmt: on
# A vowel or a mute h, which changes the preceding word.
VOWEL = r"(?!onze|huit|yaourt|hibou|héros|homard|haricot|hache)[aeiouyàâéèêëîïôœuûh]"
HIATUS = re.compile(rf"\b(le|la|je|me|se|ne|de|que|si(?= ils?\b)) {VOWEL}", re.IGNORECASE)
UNCONTRACTED = re.compile(r"\b(à les?|de les?)\b(?! [aeiouéèêhœ])", re.IGNORECASE)
UNLINKED = re.compile(rf"\b(ce|ma|sa|beau|nouveau|(le|un|ce|mon|son|leur|notre|votre) vieux) {VOWEL}", re.IGNORECASE)


@pytest.fixture(scope="module")
def corpus():
    dataset = embedded_corpus()
    for rows in dataset.values():
        assert rows.column_names == ["translation"]
        assert rows.features["translation"] == Translation(languages=["en", "fr"])
    return {split: list(rows["translation"]) for split, rows in dataset.items()}


def pairs(corpus):
    return [row for rows in corpus.values() for row in rows]


def words(text):
    return re.findall(r"[\w-]+'?", text.lower())


@pytest.mark.parametrize(("pair", "en", "fr"), STATEMENTS, ids=[en for _, en, _ in STATEMENTS])
def test_statement(pair, en, fr):
    assert sentence(pair) == (en, fr)


@pytest.mark.parametrize(("pair", "en", "fr"), QUESTIONS, ids=[en for _, en, _ in QUESTIONS])
def test_question(pair, en, fr):
    assert sentence(pair, "?") == (en, fr.replace(" ?", NBSP + "?"))


def test_sizes_and_distinct_sides(corpus):
    assert {split: len(rows) for split, rows in corpus.items()} == {
        "train": 40_000,
        "validation": 1_000,
        "test": 1_000,
    }
    for language in ("en", "fr"):
        # Sides are distinct over all splits: translation is a function in both directions, and splits share nothing.
        assert len({" ".join(words(row[language])) for row in pairs(corpus)}) == 42_000


def test_lexicon_is_large():
    lemmas = {*NOUNS, *ADJECTIVES, *VERBS, *lexicon.NUMBERS, *lexicon.DAYS}
    assert len(lemmas) >= 300
    assert len(NOUNS) == len(lexicon.NOUNS) and len(ADJECTIVES) == len(lexicon.ADJECTIVES)


@pytest.mark.parametrize(
    "error",
    [HIATUS, UNCONTRACTED, UNLINKED, re.compile(r"\s\s|_"), re.compile(rf"(?<!{NBSP})\?| \?|\n")],
    ids=["hiatus", "uncontracted", "before vowel", "spaces", "question mark"],
)
def test_french_never_has(error, corpus):
    assert [row["fr"] for row in pairs(corpus) if error.search(row["fr"])] == []


def test_sentences_are_well_formed(corpus):
    for row in pairs(corpus):
        for text in row.values():
            assert re.fullmatch(r"[A-ZÀÉÊ][^.?’]*[.?]", text), text
            assert "  " not in text
        assert not re.search(r"\ba [aeio]|\ban [^aeiouh]", row["en"]), row["en"]
        assert (row["en"][-1] == "?") == (row["fr"][-1] == "?")


def test_every_construct_is_in_train(corpus):
    english = " ".join(row["en"] for row in corpus["train"])
    constructs = ["because", "when", "If", "that", "who", "than", "no longer", "never", "cannot", "must", "want to"]
    constructs += ["How many", "Which", "What", "Where", "Why", "Who", "There is", "There are", "years old", "o'clock"]
    assert {construct: english.count(construct) for construct in constructs if english.count(construct) < 50} == {}


def test_every_tested_word_is_in_train(corpus):
    for language, least in (("en", 10), ("fr", 4)):
        train = Counter(word for row in corpus["train"] for word in words(row[language]))
        for split in ("validation", "test"):
            tested = {word for row in corpus[split] for word in words(row[language])}
            assert {word: train[word] for word in tested if train[word] < least} == {}


def qualified(rows):
    """Counts of (noun, adjective) pairs that are adjacent in the English text."""
    plurals = {form: noun.en for noun in lexicon.NOUNS for form in (noun.en, noun.en_plural)}
    adjectives = set(ADJECTIVES) - {"clean"}  # also a verb
    found = Counter()
    for row in rows:
        text = words(row["en"])
        found.update((plurals[b], a) for a, b in pairwise(text) if a in adjectives and b in plurals)
    return found


def test_held_out_adjectives_are_not_in_train(corpus):
    unseen = set(qualified(corpus["test"])) - set(qualified(corpus["train"]))
    held_out = {
        (noun, adjective)
        for noun, adjective in product(NOUNS, ADJECTIVES)
        if adjective != "clean" and embedded._home(("adjective", noun, adjective), 1) != "train"
    }
    assert len(unseen) > 20
    assert not held_out & set(qualified(corpus["train"]))


def test_held_out_objects_are_not_in_train(corpus):
    held_out = [
        (verb, noun)
        for verb in (*lexicon.TRANSITIVE, *lexicon.LIKING)
        for noun in lexicon.NOUNS
        if noun.kind in verb.objects and embedded._home(("object", verb.en, noun.en), 1) == "test"
    ]
    assert len(held_out) > 40
    train, test = (" | ".join(row["en"].lower() for row in corpus[split]) for split in ("train", "test"))
    tested = 0
    for verb, noun in held_out:
        forms = f"({verb.en}|{verb.en_past})"
        after = rf"\b{forms} (the |a |an |this |these |my |your )?({noun.en}|{noun.en_plural})\b"
        assert not re.search(after, train), (verb.en, noun.en)
        tested += bool(re.search(after, test))
    assert tested > 5


def test_every_tested_sentence_has_a_held_out_combination(corpus):
    patterns = Patterns(random.Random(1))
    combinations = {}
    while len(combinations) < 20_000:
        pair, made = patterns.draw()
        combinations.setdefault(pair.en, made)
    in_train = set().union(*(combinations[row["en"]] for row in corpus["train"] if row["en"] in combinations))
    tested = [combinations[row["en"]] for row in corpus["test"] if row["en"] in combinations]
    assert len(tested) > 300
    assert all(made - in_train for made in tested)


SMALL = {"train": 900, "validation": 30, "test": 30}
PROGRAM = f"""
import glossa_command  # so that no model is imported
from glossa.data.embedded.corpus import generate
print(list(generate(SEED, {SMALL})))
"""


def digest(seed, hash_seed):
    run = [sys.executable, "-c", PROGRAM.replace("SEED", str(seed))]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return hashlib.sha256(subprocess.run(run, env=environment, capture_output=True, check=True).stdout).hexdigest()


def test_same_seed_same_corpus():
    first, second, other = (list(generate(seed, SMALL)) for seed in (2, 2, 3))
    assert first == second != other
    assert digest(2, "77") == hashlib.sha256(f"{first}\n".encode()).hexdigest()


def test_the_corpus_is_generated_once():
    first, second = (
        [(path := Path(file["filename"]), path.stat().st_mtime_ns) for file in embedded_corpus()["train"].cache_files]
        for _ in range(2)
    )
    assert first and first == second
