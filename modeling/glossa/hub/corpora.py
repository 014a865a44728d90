"""The table of a card about the sources of a run, without information on local files."""

from ..run_folder import table_cell


def corpora(recipe: dict, report: dict) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows: of each of several sources the rows read, kept, trained on and seen in an epoch.

    A source without a `name` in the recipe is "source 1", since the name of its file may be private.
    """
    entries, found = recipe.get("sources", []), list(report.get("sources", {}).values())
    if not entries:
        return None
    columns = ("read", "kept", "train", "weight", "seen")
    rows = []
    for number, entry in enumerate(entries):
        counts = found[number] if number < len(found) else {}
        name = table_cell(entry.get("name") or f"source {number + 1}")
        rows.append([name, *(f"{counts.get(column, 0):,}" for column in columns)])
    return ["source", *columns[:-1], "seen in an epoch"], rows
