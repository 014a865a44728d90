"""Small files that take a careless reader of documents too long, too much memory, or down."""

import json

from apps.documents.packed import pack

RUN = "<w:r><w:t>Our cat sits.</w:t></w:r>"


def word(path, runs, doctype="", **others):
    document = f'{doctype}<w:document xmlns:w="w"><w:body><w:p>{runs}</w:p></w:body></w:document>'
    return pack(path, {"word/document.xml": document} | others)


def growing(folder, units=6_000, sentences=1_000):
    """Ordinary files with many units, and paragraphs with many sentences."""
    texts = [f"Our cat sits on chair {number}." for number in range(units)]
    body = "".join(
        f'\n<trans-unit id="{number}">\n <source>{text}</source>\n</trans-unit>' for number, text in enumerate(texts)
    )
    written = {
        "units.xliff": f'<xliff version="1.2"><file><body>{body}</body></file></xliff>',
        "units.json": json.dumps({f"key{number}": text for number, text in enumerate(texts)}),
        "paragraph.html": f"<p>{'<i>Our</i> cat sits here. ' * sentences}</p>",
        "quote.md": "> Our *cat* sits here and\n" * sentences,
    }
    for name, text in written.items():
        (folder / name).write_text(text)
    word(folder / "lines.docx", "<w:r><w:t>Our cat sits on a chair</w:t><w:br/></w:r>" * sentences)


def stretches(folder):
    """Long stretches of white space, or of marks."""
    space = f"Our cat{' ' * 20_000}sits."
    written = {
        "space.md": f"{space}\n", "space.json": json.dumps({"a": space}), "space.yaml": f'a: "{space}"\n',
        "space.properties": f"a={space}\n", "attribute.html": f"<p {'b' * 60_000}>Our cat sits.</p>",
        "comment.html": f"<p>Our cat sits.</p>{'<!--' * 30_000}",
    }  # fmt: skip
    for name, text in written.items():
        (folder / name).write_text(text)


def repeats(folder, number=12_000):
    """One mark or blank again and again, which each place of a pattern may begin with."""
    table, events = "|===\n|We{}We\n|===\n", "[Events]\nFormat: Text\nDialogue: We{}We\n"
    written = {
        "attribute.adoc": "We " + "{a}[" * number, "link.adoc": "We " + "link:" * number * 2,
        "star.adoc": "We " + "*a " * number, "paren.adoc": "We " + "(" * number * 3,
        "dots.adoc": table.format("." * number * 3),
        "spaces.adoc": table.format(" " * number), "a.ini": f"a{' ' * number * 4}= We",
        "a.md": f"# We{' ' * number * 4}We",
        "braces.ass": events.format("{a" * number * 6), "spaces.ass": events.format(" " * number * 6),
    }  # fmt: skip
    for name, text in written.items():
        (folder / name).write_text(text)


def broken(folder):
    """Files that end a reader in the middle."""
    forms = "{n, plural, one {" * 800 + "Our cat" + "}}" * 800
    (folder / "nested.html").write_text("<b>Our cat " * 1200 + "</b>" * 1200)
    (folder / "nested.json").write_text(json.dumps({"a": forms}))
    (folder / "encoding.html").write_text('<meta charset="hex"><p>Our cat sits.</p>')
    word(folder / "doctype.docx", RUN, "<!DOCTYPE w [<!-- ]> </x> -->]>")
    picture = "word/media/a.png"
    damaged = word(folder / "picture.docx", RUN, **{picture: bytes(range(256)) * 8})
    content = damaged.read_bytes()
    start = content.index(picture.encode()) + len(picture) + 14  # inside of what is packed
    damaged.write_bytes(content[:start] + b"x" * 10 + content[start + 10 :])
    word(folder / "bomb.docx", RUN, **{picture: bytes(900 << 20)})
