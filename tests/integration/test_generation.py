"""The features of `generate`, compared with forward passes and with scores by hand."""

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, GenerationConfig, StoppingCriteria, generation

PAD, EOS, START = 0, 1, 2
SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != PAD).long()
PREFIX = torch.tensor([[0, 0, 2, 20, 21], [2, 30, 31, 32, 33]])
PREFIX_MASK = (PREFIX != PAD).long()


def ids(model, **settings):
    return model.generate(SOURCE, attention_mask=MASK, **({"max_new_tokens": 8} | settings))


@torch.no_grad()
def log_probabilities(model, sequences, rows=(0, 1)):
    """The log-probability [len(sequences)] of all tokens after the start, up to and including the first end."""
    rows = list(rows)
    logits = model(SOURCE[rows], attention_mask=MASK[rows], decoder_input_ids=sequences[:, :-1]).logits.double()
    chosen = logits.log_softmax(-1).gather(-1, sequences[:, 1:, None])[..., 0]
    ends = (sequences[:, 1:] == EOS).long()
    return chosen.where(ends.cumsum(1) - ends == 0, 0.0).sum(1)


@pytest.mark.parametrize("settings", [{}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 4}])
def test_scores_add_up_to_the_log_probability_of_the_sequence(tiny_model, architecture, settings):
    model = tiny_model(**architecture)
    torch.manual_seed(0)
    options = {"top_k": 0, "return_dict_in_generate": True, "output_scores": True}
    outputs = ids(model, **settings, **options)
    beams = "num_beams" in settings
    scores = model.compute_transition_scores(
        outputs.sequences, outputs.scores, outputs.get("beam_indices"), normalize_logits=not beams
    )
    rows = [row for row in (0, 1) for _ in range(settings.get("num_return_sequences", 1))]
    ends = (outputs.sequences[:, 1:] == EOS).long()
    totals = scores.double().where(ends.cumsum(1) - ends == 0, 0.0).sum(1)
    torch.testing.assert_close(totals, log_probabilities(model, outputs.sequences, rows), rtol=0, atol=1e-4)


def test_sampling_follows_the_distribution_of_the_model(tiny_model):
    model = tiny_model(decoder_vocab_size=37, share_encoder_decoder_embeddings=False)
    torch.manual_seed(0)
    drawn = ids(model, do_sample=True, top_k=0, max_new_tokens=1, num_return_sequences=3000)
    assert drawn.shape == (6000, 2)
    with torch.no_grad():
        logits = model(SOURCE, attention_mask=MASK, decoder_input_ids=torch.tensor([[START]] * 2)).logits[:, -1]
    for row in range(2):
        shares = torch.bincount(drawn[3000 * row : 3000 * (row + 1), 1], minlength=37) / 3000
        # Three standard deviations of a relative frequency in 3000 draws are at most 0.027.
        torch.testing.assert_close(shares.double(), logits[row].softmax(-1).double(), rtol=0, atol=0.03)
    nucleus = ids(model, do_sample=True, top_k=1, max_new_tokens=4, num_return_sequences=5)
    assert nucleus.unflatten(0, (2, 5)).eq(ids(model, max_new_tokens=4)[:, None]).all()


@pytest.mark.parametrize("early_stopping", [True, False, "never"])
def test_beam_scores_follow_length_penalty_and_early_stopping(tiny_model, architecture, early_stopping):
    model = tiny_model(**architecture)
    for penalty in (0.0, 1.0, 2.0):
        outputs = ids(
            model, num_beams=4, num_return_sequences=4, length_penalty=penalty, early_stopping=early_stopping,
            return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
        sequences, rows = outputs.sequences, [0] * 4 + [1] * 4
        ended = (sequences[:, 1:] == EOS).long().cumsum(1)
        lengths = (ended == 0).sum(1) + ended.any(1)
        expected = log_probabilities(model, sequences, rows) / lengths.double() ** penalty
        torch.testing.assert_close(outputs.sequences_scores.double(), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("beams", [1, 3])
def test_tokens_can_be_forced_suppressed_and_kept_from_repeating(tiny_model, architecture, beams):
    model = tiny_model(**architecture)
    free = ids(model, num_beams=beams, min_new_tokens=8)
    assert free.shape[1] == 9 and not free[:, 1:].eq(EOS).any()
    banned = sorted(set(free[:, 1:].flatten().tolist()))
    suppressed = ids(model, num_beams=beams, min_new_tokens=8, suppress_tokens=banned)
    assert not torch.isin(suppressed[:, 1:], torch.tensor(banned)).any()
    at_first = ids(model, num_beams=beams, min_new_tokens=8, begin_suppress_tokens=free[:, 1].tolist())
    assert not torch.isin(at_first[:, 1], free[:, 1]).any()
    forced = ids(model, num_beams=beams, min_new_tokens=6, forced_bos_token_id=33, forced_eos_token_id=EOS)
    assert forced[:, :2].tolist() == [[START, 33]] * 2
    assert forced[:, -1].tolist() == [EOS] * 2
    words = ids(model, num_beams=beams, bad_words_ids=[[token] for token in banned], min_new_tokens=8)
    assert words.equal(suppressed)
    for size in (1, 2):
        row = ids(model, num_beams=beams, min_new_tokens=8, no_repeat_ngram_size=size)
        for tokens in row.tolist():
            grams = list(zip(*(tokens[start:] for start in range(size)), strict=False))
            assert len(grams) == len(set(grams))


def single(model, row, **settings):
    start = int((PREFIX_MASK[row] == 0).sum())
    options = {"max_new_tokens": 6, "min_new_tokens": 6} | settings
    length = int(MASK[row].sum())
    return model.generate(SOURCE[row : row + 1, :length], decoder_input_ids=PREFIX[row : row + 1, start:], **options)[
        0
    ]


@pytest.mark.parametrize(
    "settings", [{}, {"num_beams": 3}, {"use_cache": False}, {"cache_implementation": "static"}],
    ids=["greedy", "beam", "uncached", "static"],
)  # fmt: skip
def test_batched_prefixes_continue_like_single_ones(tiny_model, architecture, settings):
    model = tiny_model(**architecture)
    batched = ids(
        model, decoder_input_ids=PREFIX, decoder_attention_mask=PREFIX_MASK, max_new_tokens=6, min_new_tokens=6,
        **settings,
    )  # fmt: skip
    assert batched[:, :5].equal(PREFIX)
    for row in range(2):
        start = int((PREFIX_MASK[row] == 0).sum())
        assert batched[row, start:].equal(single(model, row, **settings))
        assert batched[row, start:].equal(single(model, row, num_beams=settings.get("num_beams", 1)))


@pytest.mark.parametrize("layers", [1, 2])
def test_an_assistant_model_does_not_change_the_result(tiny_model, architecture, layers):
    model = tiny_model(**architecture)
    assistant = tiny_model(**(architecture | {"encoder_layers": 1, "decoder_layers": layers, "encoder_ffn_dim": 8}))
    calls = []
    assistant.register_forward_hook(lambda *_: calls.append(1))
    for row, length in ((0, 4), (1, 6)):
        source = SOURCE[row : row + 1, :length]
        alone = model.generate(source, max_new_tokens=10, min_new_tokens=10)
        assert model.generate(source, max_new_tokens=10, min_new_tokens=10, assistant_model=assistant).equal(alone)
        assert model.generate(source, max_new_tokens=10, min_new_tokens=10, prompt_lookup_num_tokens=2).equal(alone)
    assert calls


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("kind", ["dynamic", "static", "offloaded", "offloaded_static"])
def test_every_cache_gives_the_same_result(tiny_model, architecture, kind, beams):
    if kind.startswith("offloaded") and not torch.cuda.is_available():
        pytest.skip("transformers moves an offloaded cache through CUDA streams")
    device = "cuda" if kind.startswith("offloaded") else "cpu"
    model = tiny_model(**architecture).to(device)
    options = {"num_beams": beams, "max_new_tokens": 8, "min_new_tokens": 8, "attention_mask": MASK.to(device)}
    uncached = model.generate(SOURCE.to(device), use_cache=False, **options)
    assert model.generate(SOURCE.to(device), cache_implementation=kind, **options).equal(uncached)


def test_generation_continues_from_a_returned_cache(tiny_model, architecture):
    model = tiny_model(**architecture)
    whole = model.generate(SOURCE[1:], max_new_tokens=8, min_new_tokens=8)
    embeddings = model.get_encoder().embed_tokens(SOURCE[1:])
    assert model.generate(inputs_embeds=embeddings, max_new_tokens=8, min_new_tokens=8).equal(whole)
    encoded = model.get_encoder()(SOURCE[1:])
    assert model.generate(encoder_outputs=encoded, max_new_tokens=8, min_new_tokens=8).equal(whole)
    first = model.generate(SOURCE[1:], max_new_tokens=4, min_new_tokens=4, return_dict_in_generate=True)
    assert first.past_key_values.get_seq_length() == 4
    later = model.generate(
        encoder_outputs=encoded, decoder_input_ids=first.sequences,
        decoder_attention_mask=torch.ones_like(first.sequences), past_key_values=first.past_key_values,
        max_new_tokens=4, min_new_tokens=4,
    )  # fmt: skip
    assert later.equal(whole)


SEVERAL = {
    "beams": {"num_beams": 3}, "static": {"num_beams": 3, "cache_implementation": "static"},
    "sampling": {"do_sample": True, "num_return_sequences": 3},
}  # fmt: skip


@pytest.mark.parametrize("settings", SEVERAL.values(), ids=SEVERAL)
def test_a_returned_cache_has_the_source_of_every_row(tiny_model, architecture, settings):
    model = tiny_model(**architecture)
    found = ids(model, return_dict_in_generate=True, **settings).past_key_values
    single = model(SOURCE, attention_mask=MASK, decoder_input_ids=PREFIX[:, -1:]).past_key_values
    assert found.self_attention_cache.layers[0].keys.shape[0] == 6
    for layer, expected in zip(found.cross_attention_cache.layers, single.cross_attention_cache.layers, strict=True):
        torch.testing.assert_close(layer.keys, expected.keys.repeat_interleave(3, 0))
        torch.testing.assert_close(layer.values, expected.values.repeat_interleave(3, 0))


def test_beams_continue_from_a_cache_with_a_row_for_each(tiny_model, architecture):
    model = tiny_model(**architecture)
    prefix = PREFIX[:, 2:]
    expected = ids(model, num_beams=3, decoder_input_ids=prefix, min_new_tokens=8)
    sources, masks, prefixes = (rows.repeat_interleave(3, 0) for rows in (SOURCE, MASK, prefix))
    cache = model(sources, attention_mask=masks, decoder_input_ids=prefixes[:, :-1]).past_key_values
    options = {"num_beams": 3, "decoder_input_ids": prefix, "min_new_tokens": 8}
    # The mask tells transformers that the prefix is whole, with the cached tokens.
    whole = torch.ones_like(prefix)
    assert ids(model, **options, past_key_values=cache, decoder_attention_mask=whole).equal(expected)
    empty = EncoderDecoderCache(DynamicCache(), DynamicCache())
    assert ids(model, **options, past_key_values=empty).equal(expected)
    assert empty.cross_attention_cache.layers[0].keys.shape[0] == 6


def test_rows_that_a_criterion_stops_are_padded_only_with_an_end_token(tiny_model):
    """As in transformers: without an end token, every row is written until the last one stops."""
    model = tiny_model()

    class First(StoppingCriteria):
        def __call__(self, input_ids, scores, **_):
            return torch.tensor([input_ids.shape[1] >= 4, input_ids.shape[1] >= 7])

    free = ids(model, max_new_tokens=6, eos_token_id=None)
    assert ids(model, eos_token_id=None, stopping_criteria=[First()]).equal(free)
    never = sorted(set(range(50)) - set(free.flatten().tolist()))[-1]
    stopped = ids(model, eos_token_id=never, stopping_criteria=[First()])
    assert stopped[1].equal(free[1])
    assert stopped[0].tolist() == free[0, :4].tolist() + [PAD] * 3


def test_decoding_defaults_are_saved_in_the_generation_configuration(tiny_model, tmp_path):
    model = tiny_model()
    model.generation_config.num_beams = 3
    model.generation_config.length_penalty = 0.6
    model.save_pretrained(tmp_path)
    assert "num_beams" not in (tmp_path / "config.json").read_text()
    loaded = type(model).from_pretrained(tmp_path, dtype=torch.float64)
    assert (loaded.generation_config.num_beams, loaded.generation_config.length_penalty) == (3, 0.6)
    assert GenerationConfig.from_pretrained(tmp_path).decoder_start_token_id == START
    assert ids(loaded).equal(ids(model, num_beams=3, length_penalty=0.6))


@pytest.mark.parametrize("settings", [{"max_new_tokens": 4}, {"max_length": 5}])
@pytest.mark.parametrize("own", [{"max_length": 9, "max_new_tokens": None}, {"max_new_tokens": 8}])
def test_a_length_of_the_caller_replaces_that_of_the_model(tiny_model, monkeypatch, settings, own):
    model, warnings = tiny_model(), []
    monkeypatch.setattr(generation.utils.logger, "warning", lambda text, *_: warnings.append(text))
    model.generation_config.update(**own, eos_token_id=None)
    assert model.generate(SOURCE, **settings).shape[1] == 5
    assert model.generate(SOURCE).shape[1] == 9
    assert not [text for text in warnings if "max_length" in text]
