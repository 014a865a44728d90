import math

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, GenerationConfig, GenerationMixin

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model.generation_glossa import GlossaGenerationMixin
from glossa.model.pipeline_glossa import LengthLimit

PAD, EOS, START, UNKNOWN, A, B, C, _ = range(8)
SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()

# P(next | last) of a bigram model. Its five likeliest sequences are
#   A C end  0.60 x 0.45 x 1.00 = 0.270        B end    0.40 x 0.90 = 0.360
#   A B end  0.60 x 0.35 x 0.90 = 0.189        A end    0.60 x 0.20 = 0.120
#   B C end  0.40 x 0.10 x 1.00 = 0.040
# Greedy search takes A (0.60 > 0.40), then C. Two beams also keep B, whose sequence is likelier.
TABLE = {START: {A: 0.6, B: 0.4}, A: {EOS: 0.2, C: 0.45, B: 0.35}, B: {EOS: 0.9, C: 0.1}, C: {EOS: 1.0}}


@pytest.fixture
def table_model():
    """A Glossa model with the probabilities of the table.

    Every sublayer adds zero, so the decoder's output is the one-hot embedding of its last input, and the output
    layer's column for that token holds the logarithms of its row.
    """
    config = GlossaConfig(
        vocab_size=8, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, scale_embedding=False, final_norm=False, tie_word_embeddings=False,
    )  # fmt: skip
    model = GlossaForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.model.decoder.embed_tokens.weight.copy_(torch.eye(8))
        for last in range(8):
            for following in range(8):
                probability = TABLE.get(last, {EOS: 1.0}).get(following, 1e-12)
                model.lm_head.weight[following, last] = math.log(probability)
    return model


def sentence(row):
    """The row up to its first end. Beam search fills shorter rows with the end, as it takes padding 0 for missing."""
    return row[: row.index(EOS) + 1]


def search(model, **settings):
    outputs = model.generate(
        torch.tensor([[4, 1]]), max_new_tokens=5, return_dict_in_generate=True, output_scores=True, **settings
    )
    return [sentence(row) for row in outputs.sequences.tolist()], outputs


def test_greedy_takes_the_likeliest_next_token(table_model):
    sequences, _ = search(table_model)
    assert sequences == [[START, A, C, EOS]]


def test_two_beams_find_the_likelier_sequence(table_model):
    sequences, outputs = search(table_model, num_beams=2, num_return_sequences=2, length_penalty=0.0)
    assert sequences == [[START, B, EOS], [START, A, C, EOS]]
    # A penalty of 0 leaves the sum of log-probabilities unchanged.
    assert outputs.sequences_scores.tolist() == pytest.approx([math.log(0.36), math.log(0.27)], abs=1e-5)


def test_length_penalty_divides_by_a_power_of_the_length(table_model):
    sequences, outputs = search(table_model, num_beams=2, num_return_sequences=2, length_penalty=1.0)
    # Two tokens against three, including the end: ln 0.36 / 2 = -0.511 and ln 0.27 / 3 = -0.436, so the longer wins.
    assert sequences == [[START, A, C, EOS], [START, B, EOS]]
    assert outputs.sequences_scores.tolist() == pytest.approx([math.log(0.27) / 3, math.log(0.36) / 2], abs=1e-5)
    # Divided by 9 and 4, ln 0.189 / 9 = -0.185 overtakes ln 0.36 / 4 = -0.255 too.
    sequences, outputs = search(table_model, num_beams=2, num_return_sequences=2, length_penalty=2.0)
    assert sequences == [[START, A, C, EOS], [START, A, B, EOS]]
    assert outputs.sequences_scores.tolist() == pytest.approx([math.log(0.27) / 9, math.log(0.189) / 9], abs=1e-5)


def test_a_wide_beam_ranks_all_sequences_of_the_table(table_model):
    sequences, outputs = search(table_model, num_beams=5, num_return_sequences=5, length_penalty=0.0)
    assert [sequence[1:-1] for sequence in sequences] == [[B], [A, C], [A, B], [A], [B, C]]
    expected = [math.log(probability) for probability in (0.36, 0.27, 0.189, 0.12, 0.04)]
    assert outputs.sequences_scores.tolist() == pytest.approx(expected, abs=1e-5)


def test_finished_rows_are_padded_and_generation_stops_when_all_are_finished(table_model):
    prefixes = torch.tensor([[START, C], [START, A]])
    outputs = table_model.generate(torch.tensor([[4, 1]] * 2), decoder_input_ids=prefixes, max_new_tokens=9)
    # C is followed by the end, A by C and the end; generation then stops long before the maximum.
    assert outputs.tolist() == [[START, C, EOS, PAD], [START, A, C, EOS]]


def ids(model, **settings):
    return model.generate(SOURCE, attention_mask=MASK, max_new_tokens=8, **settings)


def test_generation_starts_with_decoder_start_token_id(tiny_model):
    model = tiny_model(decoder_start_token_id=3)
    assert ids(model)[:, 0].tolist() == [3, 3]
    assert isinstance(model.generation_config, GenerationConfig)
    special = model.generation_config
    assert (special.pad_token_id, special.eos_token_id, special.decoder_start_token_id) == (0, 1, 3)


def test_greedy_is_the_argmax_of_forward_passes(tiny_model, architecture):
    model = tiny_model(**architecture)
    for prefix in ([[2], [2]], [[2, 20, 21], [2, 30, 31]]):
        decoded = torch.tensor(prefix)
        given = {"decoder_input_ids": decoded} if len(prefix[0]) > 1 else {}
        with torch.no_grad():
            for _ in range(8):
                following = model(SOURCE, attention_mask=MASK, decoder_input_ids=decoded).logits[:, -1].argmax(-1)
                decoded = torch.cat((decoded, following[:, None]), 1)
        assert ids(model, eos_token_id=-1, **given).equal(decoded)


@pytest.mark.parametrize("beams", [1, 3])
def test_batched_equals_single(tiny_model, architecture, beams):
    model = tiny_model(**architecture)
    batched = ids(model, num_beams=beams)
    for row, length in enumerate(MASK.sum(1)):
        single = model.generate(SOURCE[row : row + 1, :length], max_new_tokens=8, num_beams=beams)[0]
        assert batched[row, : len(single)].equal(single)
        assert batched[row, len(single) :].eq(PAD if beams == 1 else EOS).all()


@pytest.mark.parametrize("normalize_logits", [True, False])
@pytest.mark.parametrize("beams", [1, 3])
def test_transition_scores_equal_those_of_transformers_for_a_shared_vocabulary(tiny_model, beams, normalize_logits):
    model = tiny_model()
    outputs = ids(model, num_beams=beams, return_dict_in_generate=True, output_scores=True)
    arguments = outputs.sequences, outputs.scores, outputs.get("beam_indices"), normalize_logits
    theirs = GenerationMixin.compute_transition_scores(model, *arguments)
    torch.testing.assert_close(model.compute_transition_scores(*arguments), theirs)


def test_several_sequences_are_distinct_and_sorted_by_score(tiny_model):
    model = tiny_model()
    outputs = ids(model, num_beams=4, num_return_sequences=3, return_dict_in_generate=True, output_scores=True)
    assert outputs.sequences.shape[0] == 6
    best = ids(model, num_beams=4)
    for row in range(2):
        scores = outputs.sequences_scores[3 * row : 3 * row + 3]
        assert scores.equal(scores.sort(descending=True).values)
        hypotheses = outputs.sequences[3 * row : 3 * row + 3]
        assert len({tuple(hypothesis.tolist()) for hypothesis in hypotheses}) == 3
        assert hypotheses[0, : best.shape[1]].equal(best[row])


TARGETS = torch.tensor([[2, 20, 21], [2, 30, 31], [2, 22, 23], [2, 32, 33], [2, 24, 25], [2, 34, 35]])


@torch.no_grad()
@pytest.mark.parametrize("attention", ["eager", "sdpa", "flex_attention"])
def test_targets_that_share_a_source_equal_targets_with_separate_sources(tiny_model, architecture, attention):
    if attention == "flex_attention":
        architecture = architecture | {"head_dim": 16}  # the smallest that flex attention supports
    model = tiny_model(**architecture)
    model.set_attn_implementation(attention)
    with torch.compiler.set_stance("force_eager"):  # torch's compiled version fails on a CPU
        states = model.get_encoder()(SOURCE, attention_mask=MASK).last_hidden_state
    attended = {"output_attentions": True} if attention == "eager" else {}

    def logits(states, mask):
        with torch.compiler.set_stance("force_eager"):
            first = model(
                encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=TARGETS, use_cache=True, **attended
            )
            cache = first.past_key_values
            following = model(
                encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=TARGETS[:, 1:2],
                past_key_values=cache, **attended,
            )  # fmt: skip
        return first, following

    shared, own = logits(states, MASK), logits(states.repeat_interleave(3, 0), MASK.repeat_interleave(3, 0))
    for ours, theirs in zip(shared, own, strict=True):
        torch.testing.assert_close(ours.logits, theirs.logits, rtol=1e-9, atol=1e-9)
        for weights, expected in zip(ours.cross_attentions or (), theirs.cross_attentions or (), strict=True):
            torch.testing.assert_close(weights, expected, rtol=1e-9, atol=1e-9)
    for outputs, rows in ((shared[1], 2), (own[1], 6)):
        assert outputs.past_key_values.cross_attention_cache.layers[0].keys.shape[0] == rows
    # Targets of one source have different logits.
    assert (shared[0].logits[0] - shared[0].logits[1]).abs().max() > 1e-3


@pytest.mark.parametrize(
    "settings",
    [
        {"num_beams": 4}, {"num_beams": 4, "num_return_sequences": 3, "do_sample": True},
        {"num_beams": 4, "cache_implementation": "static"}, {"num_return_sequences": 3, "do_sample": True},
        {"num_beams": 2, "use_cache": False},
    ],
)  # fmt: skip
def test_beams_that_share_a_source_find_the_same_as_with_their_own(tiny_model, architecture, monkeypatch, settings):
    model = tiny_model(**architecture)
    settings = {"max_new_tokens": 12, "min_new_tokens": 6, "attention_mask": MASK} | settings
    rows = []
    model.get_decoder().register_forward_pre_hook(
        lambda module, args, given: rows.append(given["encoder_hidden_states"].shape[0]), with_kwargs=True
    )
    torch.manual_seed(1)
    shared = model.generate(SOURCE, **settings)
    assert set(rows) == {2}
    # As in transformers: each beam has its own source, reordered with it.
    monkeypatch.setattr(
        GlossaForConditionalGeneration, "_expand_inputs_for_generation", GenerationMixin._expand_inputs_for_generation
    )
    monkeypatch.delattr(GlossaGenerationMixin, "_reorder_cache")
    rows.clear()
    torch.manual_seed(1)
    assert model.generate(SOURCE, **settings).equal(shared)
    assert set(rows) == {2 * max(settings.get("num_beams", 1), settings.get("num_return_sequences", 1))}


MANY = torch.randint(4, 30, (16, 7), generator=torch.Generator().manual_seed(5))


def own_and_transformers(model, monkeypatch, **settings):
    """Results of `generate` by Glossa's and by transformers' loops, and the rows that each computed at every step."""
    found, rows = [], []
    decoder = model.get_decoder()
    settings = {"max_new_tokens": 25, "num_beams": 1} | settings
    hook = decoder.register_forward_pre_hook(
        lambda module, args, given: rows[-1].append(len(given["input_ids"])), with_kwargs=True
    )
    for own in (True, False):
        with monkeypatch.context() as patch:
            if not own:
                patch.setattr("glossa.model.generation_glossa._is_plain", lambda *args: False)
                patch.setattr(GlossaGenerationMixin, "_search", lambda *args, **kwargs: pytest.fail("ours"))
            rows.append([])
            found.append(model.generate(MANY, **settings))
    hook.remove()
    return *found, *rows


@pytest.mark.parametrize("mask", [None, MANY > 5])
def test_greedy_search_drops_finished_rows_and_equals_transformers(tiny_model, architecture, monkeypatch, mask):
    # Every third token is an end, and each row has its own length limit.
    own, transformers, rows, all_rows = own_and_transformers(
        tiny_model(**architecture), monkeypatch, eos_token_id=list(range(1, 37, 3)),
        stopping_criteria=[LengthLimit(torch.arange(16).roll(5) + 2)], attention_mask=mask,
    )  # fmt: skip
    assert own.equal(transformers)
    assert set(all_rows) == {16} and len(rows) == len(all_rows)
    lengths = (own[:, 1:] != PAD).sum(1)
    for step, computed in enumerate(rows):
        # All unfinished rows, and at most a third more.
        assert (lengths > step).sum() <= computed < (lengths > step).sum() * 4 / 3 + 1
    assert rows[-1] <= 5


@pytest.mark.parametrize("mask", [None, MANY > 5])
@pytest.mark.parametrize(
    "settings",
    [
        {}, {"length_penalty": 0.0, "num_return_sequences": 3}, {"length_penalty": 2.0, "early_stopping": "never"},
        {"length_penalty": -1.0, "early_stopping": "never"}, {"early_stopping": True, "num_return_sequences": 2},
        {"num_beams": 2, "decoder_input_ids": torch.tensor([[2, 9, 9]] * 16)},
        {"eos_token_id": list(range(4, 37))},
    ],
)  # fmt: skip
def test_beam_search_drops_finished_rows_and_equals_that_of_transformers(
    tiny_model, architecture, monkeypatch, mask, settings
):
    limits = torch.arange(16).roll(5) + 2
    settings = {"num_beams": 4, "length_penalty": 1.0, "early_stopping": False} | settings
    settings = {"eos_token_id": list(range(1, 37, 9))} | settings
    own, transformers, rows, all_rows = own_and_transformers(
        tiny_model(**architecture), monkeypatch, stopping_criteria=[LengthLimit(limits)], attention_mask=mask,
        **settings,
    )  # fmt: skip
    assert own.equal(transformers)
    beams = settings["num_beams"]
    assert set(all_rows) == {16 * beams} and len(rows) <= len(all_rows)
    # No row continues beyond its limit.
    assert rows == sorted(rows, reverse=True)
    assert all(computed <= beams * (limits > step).sum() for step, computed in enumerate(rows))


def test_beam_search_with_fewer_tokens_than_candidates(tiny_model, monkeypatch):
    model = tiny_model(vocab_size=7)
    model.config.eos_token_id = 1
    settings = {"num_beams": 5, "num_return_sequences": 5, "length_penalty": 1.0, "early_stopping": False}
    monkeypatch.setattr(f"{__name__}.MANY", MANY % 3 + 4)
    own, transformers, _, _ = own_and_transformers(model, monkeypatch, max_new_tokens=9, **settings)
    assert own.equal(transformers)


@pytest.mark.parametrize(
    "settings",
    [
        {"do_sample": True, "top_k": 0}, {"repetition_penalty": 1.5}, {"return_dict_in_generate": True},
        {"output_attentions": True}, {"use_cache": False}, {"cache_implementation": "static", "disable_compile": True},
        {"decoder_attention_mask": torch.ones(16, 1, dtype=torch.long)}, {"past_key_values": "own"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("beams", [1, 3])
def test_other_settings_use_the_search_of_transformers(tiny_model, monkeypatch, settings, beams):
    monkeypatch.setattr(GlossaGenerationMixin, "_search", lambda *args, **kwargs: pytest.fail("ours"))
    if settings == {"past_key_values": "own"}:
        settings = {"past_key_values": EncoderDecoderCache(DynamicCache(), DynamicCache())}
    found = tiny_model().generate(MANY, max_new_tokens=5, num_beams=beams, eos_token_id=-1, **settings)
    sequences = found if torch.is_tensor(found) else found.sequences
    assert sequences.shape == (16, 6)
