"""Write a memory for other programs: `glossa memory export MEMORY --output memory.tmx`."""

import csv
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from ... import __version__
from ...base.errors import GlossaError
from .store import Memory
from .units import Unit


def export(memory: Memory, path: Path) -> int:
    """Write the units of a memory that count as TMX 1.4b or as a table of two columns, by the ending of `path`.

    Returns their number. TMX has the date and the context of each unit too. Raises `GlossaError` if the file exists or
    has another ending.
    """
    if path.suffix.lower() not in (".tmx", ".tsv"):
        raise GlossaError(f"--output {path} is neither .tmx nor .tsv. Give a name with one of these endings.")
    if path.exists():
        raise GlossaError(f"{path} exists. Give another --output, or remove it.")
    codes = memory.source_language, memory.target_language
    part = path.with_name(f"{path.name}.part")
    with open(part, "w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".tsv":
            rows = csv.writer(file, "excel-tab", lineterminator="\n")
            rows.writerow(codes)
            rows.writerows((unit.source, unit.target) for unit in memory.units())
        else:
            file.write(_START.format(version=__version__, source=codes[0]))
            file.writelines(_unit(unit, codes) for unit in memory.units())
            file.write("</body>\n</tmx>\n")
    part.replace(path)
    return len(memory)


_START = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
<header creationtool="glossa" creationtoolversion="{version}" datatype="plaintext" segtype="block" adminlang="en" \
srclang="{source}" o-tmf="glossa"/>
<body>
"""


def _unit(unit: Unit, codes: tuple[str, str]) -> str:
    date = unit.date.replace("-", "").replace(":", "")
    context = "" if unit.context is None else f'<prop type="x-context">{escape(unit.context)}</prop>'
    sides = "".join(
        f"<tuv xml:lang={quoteattr(code)}><seg>{escape(text)}</seg></tuv>"
        for code, text in zip(codes, (unit.source, unit.target), strict=True)
    )
    return f"<tu{f' changedate={quoteattr(date)}' if date else ''}>{context}{sides}</tu>\n"
