"""The words of the embedded corpus in English and French.

The tables are plain text if a word needs only its translation and its gender. `grammar.py` derives regular forms;
this file lists only irregular ones. Each noun has one kind (`food`, `person`, ...), and verbs and adjectives name the
kinds they combine with, so that sentences make sense.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun. `number` is "both", "singular" (one father) or "mass" (bread, which is never counted)."""

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    feminine: bool
    kind: str
    number: str = "both"


@dataclass(frozen=True)
class Adjective:
    """An adjective: `fr` is "masculine feminine", or "masculine liaison feminine" as in "beau bel belle".

    `invariable` adjectives have one form. `comparative` is the English one, empty if comparing makes no sense.
    `predicative` adjectives only follow "to be", `attributive` ones never do.
    """

    en: str
    fr: str
    kinds: tuple[str, ...]
    before: bool = False
    comparative: str = ""
    invariable: bool = False
    predicative: bool = False
    attributive: bool = False


@dataclass(frozen=True)
class Verb:
    """A verb. `present` holds the forms for je, il, nous, vous, ils; `future` is the stem before -ai, -a, ...

    `objects` are the kinds of noun it governs, through `preposition` if French needs one. The English past
    of a `stative` verb is an imparfait, of any other a passé composé.
    """

    en: str
    en_past: str
    fr: str
    present: tuple[str, ...]
    participle: str
    future: str
    objects: tuple[str, ...] = ()
    preposition: str = ""
    etre: bool = False
    reflexive: bool = False
    stative: bool = False
    animals: bool = False


def _plural_en(word: str) -> str:
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def plural_fr(word: str) -> str:
    """The regular French plural of a noun or an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "eu")) and word != "bleu" else "s")


def _nouns(kind: str, table: str, number: str = "both") -> list[Noun]:
    """Nouns of one kind from "english[/plural] french[/plural] m|f, ..."."""
    nouns = []
    for entry in table.split(","):
        en, fr, gender = entry.split()
        en, _, en_plural = en.partition("/")
        fr, _, fr_plural = fr.partition("/")
        plurals = en_plural or _plural_en(en), fr_plural or plural_fr(fr)
        nouns.append(Noun(en, plurals[0], fr, plurals[1], gender == "f", kind, number))
    return nouns


# Kin are always "my" or "your" and persons never are: "fille" is a daughter or a girl, "femme" a wife or a woman.
NOUNS = [
    *_nouns("person", "man/men homme m, woman/women femme f, boy garçon m, girl fille f, doctor médecin m"),
    *_nouns("person", "child/children enfant m, baker boulanger m, farmer fermier m, lawyer avocat m"),
    *_nouns("person", "student étudiant m, teacher professeur m, soldier soldat m, king roi m, queen reine f"),
    *_nouns("person", "actor acteur m, actress actrice f, waiter serveur m, waitress serveuse f, judge juge m"),
    *_nouns("person", "singer chanteur m, hero/heroes héros m, tourist touriste m, nurse infirmière f"),
    *_nouns("person", "princess princesse f, worker ouvrier m"),
    *_nouns("kin", "mother mère f, father père m, wife femme f, husband mari m", "singular"),
    *_nouns("kin", "grandfather grand-père m, grandmother grand-mère f, boss patron m", "singular"),
    *_nouns("kin", "brother frère m, sister sœur f, son fils m, daughter fille f, uncle oncle m, aunt tante f"),
    *_nouns("kin", "friend ami m, neighbour voisin m, nephew neveu m, niece nièce f, cousin cousin m"),
    *_nouns("animal", "dog chien m, cat chat m, horse cheval m, bird oiseau m, rabbit lapin m, cow vache f"),
    *_nouns("animal", "goat chèvre f, mouse/mice souris f, duck canard m, owl hibou/hiboux m, fox renard m"),
    *_nouns("animal", "wolf/wolves loup m, bear ours m, elephant éléphant m, monkey singe m, donkey âne m"),
    *_nouns("animal", "pig cochon m, squirrel écureuil m, swan cygne m, turtle tortue f, hen poule f"),
    *_nouns("food", "apple pomme f, orange orange f, pear poire f, strawberry fraise f, cherry cerise f"),
    *_nouns("food", "tomato/tomatoes tomate f, carrot carotte f, egg œuf m, bean haricot m, onion oignon m"),
    *_nouns("food", "cake gâteau m, sandwich sandwich m, mushroom champignon m, lemon citron m"),
    *_nouns("food", "apricot abricot m, yoghurt yaourt m, pancake crêpe f, omelette omelette f, lobster homard m"),
    *_nouns("staple", "bread pain m, cheese fromage m, soup soupe f, rice riz m, meat viande f", "mass"),
    *_nouns("staple", "butter beurre m, honey miel m, chocolate chocolat m, jam confiture f", "mass"),
    *_nouns("staple", "ham jambon m, chicken poulet m", "mass"),
    *_nouns("drink", "water eau f, milk lait m, coffee café m, tea thé m, wine vin m, beer bière f", "mass"),
    *_nouns("drink", "juice jus m, lemonade limonade f", "mass"),
    *_nouns("text", "book livre m, newspaper journal m, letter lettre f, novel roman m, poem poème m"),
    *_nouns("text", "story histoire f, magazine magazine m, message message m, article article m"),
    *_nouns("text", "report rapport m"),
    *_nouns("thing", "key clé f, bag sac m, umbrella parapluie m, telephone téléphone m, knife/knives couteau m"),
    *_nouns("thing", "computer ordinateur m, clock horloge f, ball ballon m, toy jouet m, pencil crayon m"),
    *_nouns("thing", "axe hache f, wallet portefeuille m, ring bague f, tool outil m, basket panier m"),
    *_nouns("thing", "guitar guitare f, gift cadeau m, candle bougie f, jewel bijou/bijoux m"),
    *_nouns("dish", "glass verre m, plate assiette f, cup tasse f, bottle bouteille f, vase vase m, bowl bol m"),
    *_nouns("clothes", "shirt chemise f, dress robe f, hat chapeau m, coat manteau m, skirt jupe f"),
    *_nouns("clothes", "scarf/scarves écharpe f, shoe chaussure f, glove gant m, jacket veste f, belt ceinture f"),
    *_nouns("clothes", "sock chaussette f, suit costume m"),
    *_nouns("furniture", "table table f, chair chaise f, bed lit m, lamp lampe f, wardrobe armoire f"),
    *_nouns("furniture", "armchair fauteuil m, bench banc m, desk bureau m, shelf/shelves étagère f"),
    *_nouns("vehicle", "car voiture f, bicycle vélo m, lorry camion m, motorcycle moto f"),
    *_nouns("transport", "train train m, bus bus m, plane avion m, boat bateau m, taxi taxi m"),
    *_nouns("building", "house maison f, castle château m, bridge pont m, church église f, tower tour f"),
    *_nouns("building", "palace palais m, cathedral cathédrale f, temple temple m, prison prison f"),
    *_nouns("opening", "door porte f, window fenêtre f, gate portail m"),
    *_nouns("container", "box boîte f, suitcase valise f, drawer tiroir m, cupboard placard m"),
    *_nouns("nature", "tree arbre m, flower fleur f, river rivière f, mountain montagne f, lake lac m"),
    *_nouns("nature", "hill colline f, island île f, star étoile f"),
    *_nouns("music", "song chanson f, concert concert m, opera opéra m"),
    *_nouns("venue", "market marché m, station gare f, museum musée m, theatre théâtre m, beach plage f"),
    *_nouns("venue", "restaurant restaurant m, library bibliothèque f, hospital hôpital m, school école f"),
    *_nouns("venue", "airport aéroport m, bank banque f, farm ferme f, hotel hôtel m, cinema cinéma m"),
    *_nouns("area", "garden jardin m, kitchen cuisine f, forest forêt f, street rue f, park parc m"),
    *_nouns("area", "village village m, city ville f, bedroom chambre f, valley vallée f, field champ m"),
]

# Words that begin with a vowel or an h but take neither elision nor liaison.
ASPIRATED = ("haricot", "hibou", "héros", "homard", "hache", "huit", "onze", "yaourt")

_PAINTED = "clothes furniture vehicle opening container dish"


def _adjective(en: str, fr: str, kinds: str, comparative: str = "", **flags: bool) -> Adjective:
    return Adjective(en, fr, tuple(kinds.split()), comparative=comparative, **flags)


_A = _adjective
ADJECTIVES = [
    _A("beautiful", "beau bel belle", "clothes building nature animal music", "more beautiful", before=True),
    _A("old", "vieux vieil vieille", "person kin animal clothes furniture vehicle building", "older", before=True),
    _A("new", "nouveau nouvel nouvelle", "text thing clothes furniture vehicle", before=True, attributive=True),
    _A("good", "bon bonne", "food staple drink text music", before=True),
    _A("bad", "mauvais mauvaise", "text music food", before=True),
    _A("small", "petit petite", "animal thing furniture building dish area", "smaller", before=True),
    _A("big", "grand grande", "furniture building nature opening area container", "bigger", before=True),
    _A("pretty", "joli jolie", "clothes nature dish", "prettier", before=True),
    _A("young", "jeune jeune", "person animal", "younger", before=True),
    _A("long", "long longue", "text", "longer", before=True),
    _A("excellent", "excellent excellente", "food staple drink text", before=True),
    _A("red", "rouge rouge", _PAINTED),
    _A("blue", "bleu bleue", _PAINTED),
    _A("green", "vert verte", _PAINTED),
    _A("yellow", "jaune jaune", _PAINTED),
    _A("black", "noir noire", _PAINTED + " animal"),
    _A("white", "blanc blanche", _PAINTED + " animal"),
    _A("grey", "gris grise", _PAINTED + " animal"),
    _A("brown", "marron marron", "clothes furniture opening container", invariable=True),
    _A("intelligent", "intelligent intelligente", "person kin animal", "more intelligent"),
    _A("brave", "courageux courageuse", "person kin", "braver"),
    _A("happy", "heureux heureuse", "person kin", "happier"),
    _A("sad", "triste triste", "person kin text music", "sadder"),
    _A("kind", "gentil gentille", "person kin", "kinder"),
    _A("famous", "célèbre célèbre", "person building text", "more famous"),
    _A("rich", "riche riche", "person kin", "richer"),
    _A("poor", "pauvre pauvre", "person", "poorer"),
    _A("funny", "drôle drôle", "person kin text", "funnier"),
    _A("lazy", "paresseux paresseuse", "person kin animal", "lazier"),
    _A("proud", "fier fière", "person kin", "prouder"),
    _A("curious", "curieux curieuse", "person kin animal", "more curious"),
    _A("strong", "fort forte", "person kin animal", "stronger"),
    _A("honest", "honnête honnête", "person kin", "more honest"),
    _A("polite", "poli polie", "person kin", "more polite"),
    _A("elegant", "élégant élégante", "person clothes", "more elegant"),
    _A("serious", "sérieux sérieuse", "person kin text", "more serious"),
    _A("tired", "fatigué fatiguée", "person kin animal", "more tired", predicative=True),
    _A("sick", "malade malade", "person kin animal", predicative=True),
    _A("ready", "prêt prête", "person kin", predicative=True),
    _A("furious", "furieux furieuse", "person kin", predicative=True),
    _A("alone", "seul seule", "person kin", predicative=True),
    _A("busy", "occupé occupée", "person kin", predicative=True),
    _A("late", "en_retard en_retard", "person kin transport", invariable=True, predicative=True),
    _A("angry", "en_colère en_colère", "person kin", invariable=True, predicative=True),
    _A("dangerous", "dangereux dangereuse", "animal transport area", "more dangerous"),
    _A("wild", "sauvage sauvage", "animal"),
    _A("quiet", "tranquille tranquille", "area venue", "quieter"),
    _A("fast", "rapide rapide", "vehicle transport", "faster"),
    _A("expensive", "cher chère", "clothes vehicle thing furniture", "more expensive"),
    _A("clean", "propre propre", "clothes dish vehicle furniture area", "cleaner"),
    _A("dirty", "sale sale", "clothes dish vehicle opening", "dirtier"),
    _A("hot", "chaud chaude", "staple", "hotter"),
    _A("cold", "froid froide", "drink", "colder"),
    _A("fresh", "frais fraîche", "food", "fresher"),
    _A("delicious", "délicieux délicieuse", "food staple drink"),
    _A("heavy", "lourd lourde", "thing furniture container", "heavier"),
    _A("light", "léger légère", "thing clothes", "lighter"),
    _A("empty", "vide vide", "dish container transport"),
    _A("broken", "cassé cassée", "dish opening thing"),
    _A("round", "rond ronde", "dish furniture"),
    _A("interesting", "intéressant intéressante", "text music venue", "more interesting"),
    _A("boring", "ennuyeux ennuyeuse", "text music person", "more boring"),
    _A("difficult", "difficile difficile", "text", "more difficult"),
    _A("short", "court courte", "text clothes", "shorter"),
    _A("strange", "étrange étrange", "text animal thing", "stranger"),
    _A("modern", "moderne moderne", "building furniture venue", "more modern"),
    _A("useful", "utile utile", "thing text", "more useful"),
    _A("comfortable", "confortable confortable", "furniture clothes", "more comfortable"),
    _A("magnificent", "magnifique magnifique", "building nature music"),
    _A("original", "original originale", "text thing music", "more original"),
]


def _past_en(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "ed"


def _verb(en: str, fr: str, objects: str = "", past: str = "", **flags: str | bool) -> Verb:
    """A verb from "infinitive", regular in -er, or "infinitive je il nous vous ils participle [future stem]"."""
    infinitive, *forms = fr.split()
    if not forms:
        stem = infinitive[:-2]
        soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)
        forms = [stem + "e", stem + "e", soft + "ons", stem + "ez", stem + "ent", stem + "é"]
    future = forms[6] if len(forms) > 6 else infinitive.removesuffix("e")
    base, _, particle = en.partition(" ")
    past = f"{past or _past_en(base)} {particle}".strip()
    return Verb(en, past, infinitive, tuple(forms[:5]), forms[5], future, tuple(objects.split()), **flags)  # type: ignore[arg-type]


_V = _verb
_CLEANED = "furniture vehicle dish area"
_GOODS = "text thing clothes furniture vehicle"
_LIKED = "food staple drink music animal clothes"
TRANSITIVE = [
    _V("eat", "manger", "food staple", "ate", animals=True),
    _V("drink", "boire bois boit buvons buvez boivent bu", "drink", "drank", animals=True),
    _V("prepare", "préparer", "food staple"),
    _V("order", "commander", "food staple drink"),
    _V("buy", "acheter achète achète achetons achetez achètent acheté achèter", _GOODS + " food", "bought"),
    _V("sell", "vendre vends vend vendons vendez vendent vendu", _GOODS + " food", "sold"),
    _V("read", "lire lis lit lisons lisez lisent lu", "text", "read"),
    _V("write", "écrire écris écrit écrivons écrivez écrivent écrit", "text", "wrote"),
    _V("see", "voir vois voit voyons voyez voient vu verr", "person kin animal building nature", "saw", animals=True),
    _V("look for", "chercher", "person kin animal thing clothes text", "looked", animals=True),
    _V("find", "trouver", "animal thing clothes text", "found", animals=True),
    _V("lose", "perdre perds perd perdons perdez perdent perdu", "thing clothes", "lost"),
    _V("wear", "porter", "clothes", "wore"),
    _V("take", "prendre prends prend prenons prenez prennent pris", "transport thing", "took"),
    _V("open", "ouvrir ouvre ouvre ouvrons ouvrez ouvrent ouvert", "opening container"),
    _V("close", "fermer", "opening container"),
    _V("wait for", "attendre attends attend attendons attendez attendent attendu", "person kin transport"),
    _V("help", "aider", "person kin"),
    _V("listen to", "écouter", "person kin music"),
    _V("visit", "visiter", "building venue area"),
    _V("clean", "nettoyer nettoie nettoie nettoyons nettoyez nettoient nettoyé nettoier", _CLEANED),
    _V("wash", "laver", "clothes vehicle dish"),
    _V("repair", "réparer", "vehicle opening furniture"),
    _V("draw", "dessiner", "animal building nature", "drew"),
    _V("paint", "peindre peins peint peignons peignez peignent peint", "opening furniture building"),
    _V("choose", "choisir choisis choisit choisissons choisissez choisissent choisi", _GOODS, "chose"),
    _V("finish", "finir finis finit finissons finissez finissent fini", "text"),
    _V("forget", "oublier", "thing clothes text", "forgot"),
    _V("break", "casser", "dish furniture", "broke"),
    _V("hide", "cacher", "thing text", "hid"),
    _V("build", "construire construis construit construisons construisez construisent construit", "building", "built"),
    _V("follow", "suivre suis suit suivons suivez suivent suivi", "person kin animal", animals=True),
    _V("call", "appeler appelle appelle appelons appelez appellent appelé appeller", "person kin"),
    _V("invite", "inviter", "person kin"),
    _V("meet", "rencontrer", "person kin", "met"),
    _V("thank", "remercier", "person kin"),
    _V("protect", "protéger protège protège protégeons protégez protègent protégé", "person kin animal nature"),
    _V("watch", "regarder", "person kin animal nature", animals=True),
    _V("bring", "apporter", "food staple drink thing", "brought"),
    _V("steal", "voler", "thing vehicle", "stole"),
]
# After "aimer", "le" translates English without an article, so these two verbs never take "the".
LIKING = [_V("like", "aimer", _LIKED, stative=True), _V("adore", "adorer", _LIKED, stative=True)]
KNOW = _V(
    "know",
    "connaître connais connaît connaissons connaissez connaissent connu",
    "person kin",
    past="knew",
    stative=True,
)
HAVE = _V("have", "avoir ai a avons avez ont eu aur", "animal vehicle thing clothes text", "had", stative=True)
TO_PERSON = [
    _V("talk to", "parler", "person kin", preposition="à"),
    _V("think of", "penser", "person kin", "thought", preposition="à"),
    _V("answer", "répondre réponds répond répondons répondez répondent répondu", "person kin", preposition="à"),
    _V("dance with", "danser", "person kin", preposition="avec"),
]
GIVING = [
    _V("give", "donner", "food thing clothes text", "gave"),
    _V("show", "montrer", "thing clothes text building"),
    _V("send", "envoyer envoie envoie envoyons envoyez envoient envoyé enverr", "text thing", "sent"),
    _V("lend", "prêter", "thing clothes vehicle", "lent"),
]
INTRANSITIVE = [
    _V("sleep", "dormir dors dort dormons dormez dorment dormi", "", "slept", animals=True),
    _V("work", "travailler"),
    _V("laugh", "rire ris rit rions riez rient ri"),
    _V("cry", "pleurer"),
    _V("sing", "chanter", "", "sang", animals=True),
    _V("run", "courir cours court courons courez courent couru courr", "", "ran", animals=True),
    _V("walk", "marcher", animals=True),
    _V("play", "jouer", animals=True),
    _V("smile", "sourire souris sourit sourions souriez sourient souri"),
    _V("shout", "crier"),
    _V("jump", "sauter", animals=True),
    _V("dream", "rêver"),
    _V("arrive", "arriver", etre=True),
    _V("leave", "partir pars part partons partez partent parti", "", "left", etre=True),
    _V("fall", "tomber", "", "fell", etre=True, animals=True),
    _V("stay", "rester", etre=True, animals=True),
    _V("rest", "reposer", reflexive=True, animals=True),
    _V("wake up", "réveiller", "", "woke", reflexive=True, animals=True),
    _V("get up", "lever lève lève levons levez lèvent levé lèver", "", "got", reflexive=True),
    _V("go to bed", "coucher", "", "went", reflexive=True),
]
GO = _V("go", "aller vais va allons allez vont allé ir", "", "went", etre=True)
RETURN = _V("return", "retourner", etre=True)
COME = _V("come", "venir viens vient venons venez viennent venu viendr", "", "came", etre=True)
LIVE = _V("live", "habiter", stative=True)
BE = _V("be", "être suis est sommes êtes sont été ser", "", "was", stative=True)
WANT = _V("want", "vouloir veux veut voulons voulez veulent voulu voudr", stative=True)
CAN = _V("can", "pouvoir peux peut pouvons pouvez peuvent pu pourr", "", "could", stative=True)
MUST = _V("must", "devoir dois doit devons devez doivent dû devr", stative=True)
OPINIONS = [
    _V("think", "penser"),
    _V("say", "dire dis dit disons dites disent dit"),
    _V("know", "savoir sais sait savons savez savent su saur"),
    _V("believe", "croire crois croit croyons croyez croient cru"),
    _V("hope", "espérer espère espère espérons espérez espèrent espéré"),
]

MEN = ["Paul", "Thomas", "Lucas", "Simon", "David", "Nicolas", "Victor", "Antoine", "Martin", "Olivier"]
WOMEN = ["Marie", "Alice", "Emma", "Julie", "Sarah", "Claire", "Louise", "Sophie", "Charlotte", "Anna"]
_CITIES = """Paris/Paris Lyon/Lyon London/Londres Rome/Rome Berlin/Berlin Brussels/Bruxelles Geneva/Genève
Lisbon/Lisbonne Vienna/Vienne Athens/Athènes"""
CITIES: dict[str, str] = dict(pair.split("/") for pair in _CITIES.split())
# In and from, French: the preposition of a country depends on its gender and on its first letter.
COUNTRIES = {
    "France": ("en France", "de France"),
    "Italy": ("en Italie", "de Italie"),
    "Spain": ("en Espagne", "de Espagne"),
    "Germany": ("en Allemagne", "de Allemagne"),
    "Switzerland": ("en Suisse", "de Suisse"),
    "Japan": ("à le Japon", "de le Japon"),
    "Canada": ("à le Canada", "de le Canada"),
    "Portugal": ("à le Portugal", "de le Portugal"),
    "Brazil": ("à le Brésil", "de le Brésil"),
    "the United States": ("à les États-Unis", "de les États-Unis"),
    "the Netherlands": ("à les Pays-Bas", "de les Pays-Bas"),
}
_NUMBERS = """two/deux three/trois four/quatre five/cinq six/six seven/sept eight/huit nine/neuf ten/dix
eleven/onze twelve/douze thirteen/treize fourteen/quatorze fifteen/quinze sixteen/seize seventeen/dix-sept
eighteen/dix-huit nineteen/dix-neuf twenty/vingt thirty/trente forty/quarante fifty/cinquante sixty/soixante
seventy/soixante-dix eighty/quatre-vingts ninety/quatre-vingt-dix"""
NUMBERS: dict[str, str] = dict(pair.split("/") for pair in _NUMBERS.split())
_DAYS = "Monday/lundi Tuesday/mardi Wednesday/mercredi Thursday/jeudi Friday/vendredi Saturday/samedi Sunday/dimanche"
DAYS: dict[str, str] = dict(pair.split("/") for pair in _DAYS.split())
TIMES = {
    "present": {"every day": "tous les jours", "every morning": "tous les matins", "today": "aujourd'hui"},
    "past": {"yesterday": "hier", "last week": "la semaine dernière", "last year": "l'année dernière"},
    "future": {"tomorrow": "demain", "next week": "la semaine prochaine", "next year": "l'année prochaine"},
}
SEASONS = {"summer": "en été", "winter": "en hiver", "autumn": "en automne", "spring": "à le printemps"}
STATES = {"hungry": "faim", "thirsty": "soif", "sleepy": "sommeil", "right": "raison", "wrong": "tort"}
_WEATHER = """it is raining/it rained/it will rain/it rains/il pleut/il a plu/il pleuvra
it is snowing/it snowed/it will snow/it snows/il neige/il a neigé/il neigera
it is cold/it was cold/it will be cold/it is cold/il fait froid/il faisait froid/il fera froid
it is hot/it was hot/it will be hot/it is hot/il fait chaud/il faisait chaud/il fera chaud"""
# English present, past, future, present after "if" and "when"; French present, past, future.
WEATHER = [line.split("/") for line in _WEATHER.splitlines()]
