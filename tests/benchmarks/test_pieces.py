"""Pieces of vocabularies, by hand."""

from benchmarks.__main__ import main
from benchmarks.pieces import measure
from glossa.data.arguments import TokenizerArguments
from glossa.data.encoding.vocabulary import train_tokenizer


def test_pieces_by_hand():
    tokenizer = train_tokenizer(["ab", "ab"], 261)  # all bytes, and "Ġa" as the only merge
    found = measure(tokenizer, ["ab", "b"], ["é"])
    # " a", "b" and " ", "b"; of "é" a space and two bytes.
    assert list(found.values()) == ["1.333", "3.000", "66.67%"]
    characters = train_tokenizer(["ab"], 100, options=TokenizerArguments(tokenizer_model="character", min_frequency=1))
    assert list(measure(characters, ["ab"], ["aé"]).values()) == ["1.000", "1.000", "50.00%"]


def test_the_table(tmp_path, capsys):
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"word {a}{b}\tmot {b}{a}\n" for a in "abcdefghij" for b in "klmnopqrst"))
    main(["pieces", str(file), "--target_language", "fr", "--sizes", "270"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[:4]][2:] == ["bpe, 270", lines[3].split("|")[1].strip()]
    assert lines[3].startswith("| unigram, ") and lines[-1].startswith("0.00% of the target characters")
