"""Fourth part: the speed of translation, greedy and with 5 beams: Glossa and MarianMT."""

import time

import torch

from glossa.model.modeling_glossa import GlossaForConditionalGeneration

from ..corpus import load_corpus
from ..decoding import LENGTH, build_decoders, measure_decoding
from ..sizes import glossa_config
from .first import searched_on
from .record import Options, Record

SIZE = {"cuda": "base", "cpu": "tiny"}
BATCHES = {"cuda": (64, 512), "cpu": (4,)}
TOKENS = {"cuda": LENGTH, "cpu": 4}  # of each translation
ROUNDS = {"cuda": 3, "cpu": 1}
BEAMS = (1, 5)
RESERVE = 10  # seconds before the end of the part, in which nothing new starts


def measure(record: Record, options: Options) -> None:
    ends = time.monotonic() + options.seconds - RESERVE
    corpus = load_corpus(options.data)
    torch.manual_seed(1)
    model = GlossaForConditionalGeneration(glossa_config(SIZE[options.device], corpus.tokenizer))
    sources = corpus.tokenizer(list(corpus.pairs["train"]["source"][:2048]))["input_ids"]
    decoders = build_decoders(model, corpus.tokenizer, TOKENS[options.device])
    decoders.glossa, decoders.marian = (each.to(options.device) for each in (decoders.glossa, decoders.marian))
    for batch in BATCHES[options.device]:
        for beams in BEAMS:
            # Glossa's search first; then, on a GPU, transformers' with Glossa's model.
            for searched in ((options.device,), ()):
                if time.monotonic() > ends:
                    record.add("left out for lack of time", beams=beams, batch=batch)
                    continue
                with record.attempt(f"{beams} beams, {batch} sentences"), searched_on(*searched):
                    found = measure_decoding(decoders, sources, beams, batch, ROUNDS[options.device])
                    show(record, found, {"beams": beams, "sentences": batch}, bool(searched))


def show(record: Record, found: dict, case: dict, own: bool) -> None:
    """Add the contenders' speeds; those of Glossa with transformers' search alone, since the others are the same."""
    names = list(found) if own else list(found)[:1]
    search = "its own search" if own else "transformers' search"
    labels = {names[0]: f"{names[0]}, {search}"}
    for name in names:
        ratio = {"Glossa is faster": found[name]["ratio"]["median"]} if own else {}
        row = {"by": labels.get(name, name), "sentences/s": found[name]["speed"]["median"]}
        record.add("decoding, float32", **case, **row, **ratio)
