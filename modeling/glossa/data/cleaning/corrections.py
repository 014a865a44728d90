"""Which corrections of translations teach something."""


def refusal(source: str, output: str | None, correction: str) -> str:
    """Why a model should not learn a correction of its translation `output`; "" if it should."""
    if not correction.strip() or not any(map(str.isalpha, correction)):
        return "The correction has no words."
    if correction in (source, output):
        return "The correction is equal to the text or to its translation."
    if not 1 / 4 <= len(correction) / max(len(source), 1) <= 4 and abs(len(correction) - len(source)) > 20:
        return "The correction is much shorter or longer than the text."
    return ""
