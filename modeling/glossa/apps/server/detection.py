"""Language detection among the languages of a server."""

from collections.abc import Iterable

from ...base.identification import identifier
from ...base.languages import language_code
from ...model.facts_glossa import TextFacts

CHARACTERS = 1000  # that are read of a text


class Detector:
    """Detects languages with py3langid. Probabilities are normalized over the given languages."""

    def __init__(self, codes: Iterable[str]):
        self.codes = list(dict.fromkeys(codes))
        self.identifier = identifier()
        self.labels = {code: language_code(code) or code for code in self.codes}

    def rank(self, text: str) -> list[tuple[str, float]]:
        """The languages with their probabilities in percent, most probable first.

        A text without letters gives equal probabilities. A language that py3langid does not know has probability 0.
        """
        shares = dict(self.identifier.rank(text[:CHARACTERS])) if TextFacts(text).has_letters else {}
        found = {code: float(shares.get(label, 0.0)) for code, label in self.labels.items()}
        total = sum(found.values())
        even = 100 / max(len(found), 1)
        ranked = [(code, round(100 * share / total, 1) if total else even) for code, share in found.items()]
        return sorted(ranked, key=lambda pair: -pair[1])
