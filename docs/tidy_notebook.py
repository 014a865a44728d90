"""Removes from docs/notebook.ipynb what its cells wrote to stderr: progress bars, and paths of one machine."""

import json
from pathlib import Path

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")


def main() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    notebook["metadata"]["language_info"] = {"name": "python"}  # without the versions of the machine
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"  # random otherwise
        cell.get("metadata", {}).pop("execution", None)  # times
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if output.get("name") != "stderr"]
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
