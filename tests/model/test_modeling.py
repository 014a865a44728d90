import math

import pytest
import torch
from small_models import same
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from glossa import GlossaForConditionalGeneration, GlossaModel
from glossa.model.layers_glossa import rotate, sinusoids
from glossa.model.modeling_glossa import shift_tokens_right

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 14, 15, 16]])
TARGET = torch.tensor([[2, 20, 21, 22, 23], [2, 30, 31, 32, 33]])


def padded(source, amount, side):
    """`source` with `amount` of padding on one side, and its mask."""
    padding = source.new_zeros(len(source), amount)
    rows, mask = (source, padding), (torch.ones_like(source), padding)
    if side == "left":
        rows, mask = rows[::-1], mask[::-1]
    return {"input_ids": torch.cat(rows, 1), "attention_mask": torch.cat(mask, 1)}


@torch.no_grad()
def test_cached_equals_uncached_logits_at_every_step(tiny_model, architecture):
    model = tiny_model(**architecture)
    encoded = model.model.encoder(**padded(SOURCE, 2, "right"))
    mask = padded(SOURCE, 2, "right")["attention_mask"]
    cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
    for step in range(TARGET.shape[1]):
        cached = model(
            attention_mask=mask, encoder_outputs=encoded, decoder_input_ids=TARGET[:, step : step + 1],
            past_key_values=cache, use_cache=True,
        )  # fmt: skip
        cache = cached.past_key_values
        whole = model(
            attention_mask=mask, encoder_outputs=encoded, decoder_input_ids=TARGET[:, : step + 1], use_cache=False
        )
        assert whole.past_key_values is None
        same(cached.logits[:, -1], whole.logits[:, -1])
        assert cache.get_seq_length() == step + 1


@torch.no_grad()
def test_the_decoder_sees_no_later_token_and_the_whole_source(tiny_model, architecture):
    model = tiny_model(**architecture)
    logits = model(SOURCE, decoder_input_ids=TARGET).logits
    later = TARGET.clone()
    later[:, 3:] = 17
    changed = model(SOURCE, decoder_input_ids=later).logits
    same(changed[:, :3], logits[:, :3])
    assert (changed[:, 3:] - logits[:, 3:]).abs().max() > 1e-3
    for position in range(SOURCE.shape[1]):
        source = SOURCE.clone()
        source[:, position] = 40
        assert (model(source, decoder_input_ids=TARGET).logits - logits).abs().amax(-1).min() > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_source_padding_changes_nothing(tiny_model, architecture, side, attention):
    model = tiny_model(**architecture)
    model.set_attn_implementation(attention)
    logits = model(SOURCE, decoder_input_ids=TARGET).logits
    for amount in (1, 7):
        batch = padded(SOURCE, amount, side)
        same(model(**batch, decoder_input_ids=TARGET).logits, logits)
        batch["input_ids"] = batch["input_ids"].where(batch["attention_mask"] == 1, 19)
        same(model(**batch, decoder_input_ids=TARGET).logits, logits)
        # Without the mask, padding changes the logits.
        unmasked = model(batch["input_ids"], decoder_input_ids=TARGET).logits
        assert (unmasked - logits).abs().max() > 1e-3


@torch.no_grad()
def test_source_padding_is_masked_in_cross_attention(tiny_model):
    """Encoder states are given, so only cross-attention can mask the padding."""
    model = tiny_model()
    mask = padded(SOURCE, 3, "right")["attention_mask"]
    states = torch.randn(2, 9, 16, dtype=torch.float64)
    other = states.clone()
    other[:, 6:] = 100.0
    logits = model(encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=TARGET).logits
    same(model(encoder_outputs=(other,), attention_mask=mask, decoder_input_ids=TARGET).logits, logits)
    assert (model(encoder_outputs=(other,), decoder_input_ids=TARGET).logits - logits).abs().max() > 1e-3


@torch.no_grad()
def test_target_padding_on_either_side_changes_nothing(tiny_model, architecture):
    model = tiny_model(**architecture)
    logits = model(SOURCE, decoder_input_ids=TARGET).logits
    right = padded(TARGET, 3, "right")["input_ids"]
    same(model(SOURCE, decoder_input_ids=right).logits[:, :5], logits)
    left = padded(TARGET, 3, "left")
    shifted = model(SOURCE, decoder_input_ids=left["input_ids"], decoder_attention_mask=left["attention_mask"])
    same(shifted.logits[:, 3:], logits)


@torch.no_grad()
@pytest.mark.parametrize(
    "settings", [{}, {"num_key_value_heads": None, "kv_lora_rank": 6, "rotary_cross_attention": True}]
)
def test_attention_weights_sum_to_one_and_respect_masks(tiny_model, settings):
    model = tiny_model(encoder_layers=3, **settings)
    model.set_attn_implementation("eager")
    batch = padded(SOURCE, 2, "right")
    outputs = model(**batch, decoder_input_ids=TARGET, output_attentions=True, output_hidden_states=True)
    # One per layer; hidden states also include the input of the first layer.
    assert (len(outputs.encoder_attentions), len(outputs.encoder_hidden_states)) == (3, 4)
    assert (len(outputs.decoder_attentions), len(outputs.decoder_hidden_states)) == (2, 3)
    assert len(outputs.cross_attentions) == 2
    same(outputs.encoder_last_hidden_state, model.get_encoder()(**batch).last_hidden_state)
    assert outputs.encoder_attentions[0].shape == (2, 4, 8, 8)
    assert outputs.decoder_attentions[0].shape == (2, 4, 5, 5)
    assert outputs.cross_attentions[0].shape == (2, 4, 5, 8)
    for attention in (*outputs.encoder_attentions, *outputs.decoder_attentions, *outputs.cross_attentions):
        same(attention.sum(-1), torch.ones_like(attention[..., 0]))
    assert outputs.cross_attentions[1][..., 6:].max() == 0
    causal = torch.ones(5, 5).tril().bool()
    seen = outputs.decoder_attentions[1] > 0
    assert seen.equal(causal.expand_as(seen))


def test_training_gives_logits_too_unless_they_are_not_wanted(tiny_model):
    model = tiny_model(dropout=0.0).train()
    batch = {"input_ids": SOURCE, "labels": TARGET}
    loss, logits, *_ = model(**batch, return_dict=False)
    same(logits, model(**batch).logits)
    same(loss, torch.nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()))
    without = model(**batch, return_logits=False)
    same(without.loss, loss)
    assert without.logits is None
    loss.backward()
    assert model.lm_head.weight.grad.abs().max() > 0
    _, same_logits, *_ = model.eval()(**batch, return_dict=False)
    same(logits, same_logits)
    model.config.return_dict = False
    same(model.train()(**batch)[1], logits)


@pytest.mark.parametrize("field", ["dropout", "attention_dropout", "activation_dropout"])
def test_dropout_is_on_in_training_and_off_in_evaluation(tiny_model, field):
    model, without = tiny_model(**{field: 0.5}), tiny_model()
    reference = without(SOURCE, decoder_input_ids=TARGET).logits
    same(model(SOURCE, decoder_input_ids=TARGET).logits, reference)
    same(without.train()(SOURCE, decoder_input_ids=TARGET).logits, reference)
    model.train()
    first, second = (model(SOURCE, decoder_input_ids=TARGET).logits for _ in range(2))
    assert (first - second).abs().max() > 1e-3 and (first - reference).abs().max() > 1e-3


@pytest.mark.parametrize(("num_key_value_heads", "width"), [(None, 16), (4, 16), (2, 8), (1, 4)])
def test_grouped_heads_narrow_projections_and_cache(tiny_model, num_key_value_heads, width):
    model = tiny_model(num_key_value_heads=num_key_value_heads)
    for layer in model.model.decoder.layers:
        for attention in (layer.self_attn, layer.encoder_attn):
            assert attention.k_proj.weight.shape == attention.v_proj.weight.shape == (width, 16)
            assert attention.q_proj.weight.shape == (16, 16)
    cache = model(SOURCE, decoder_input_ids=TARGET).past_key_values
    assert cache.self_attention_cache.layers[0].keys.shape == (2, width // 4, 5, 4)
    assert cache.cross_attention_cache.layers[0].values.shape == (2, width // 4, 6, 4)


@torch.no_grad()
def test_grouped_heads_equal_full_heads_with_repeated_weights(tiny_model):
    """Query heads 0 and 1 share the first key-value head, 2 and 3 the second (Ainslie et al. 2023, figure 2)."""
    grouped, full = tiny_model(num_key_value_heads=2), tiny_model(num_key_value_heads=4)
    weights = grouped.state_dict()
    for name, weight in weights.items():
        if "k_proj" in name or "v_proj" in name:
            weights[name] = torch.cat([weight[:4], weight[:4], weight[4:], weight[4:]])
    full.load_state_dict(weights)
    same(full(SOURCE, decoder_input_ids=TARGET).logits, grouped(SOURCE, decoder_input_ids=TARGET).logits)


TYINGS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize(("tied", "shared"), TYINGS)
def test_only_tied_weights_change_together(tiny_model, tmp_path, tied, shared):
    model = tiny_model(tie_word_embeddings=tied, share_encoder_decoder_embeddings=shared)
    before = model(SOURCE, decoder_input_ids=TARGET).logits
    model.save_pretrained(tmp_path)
    loaded = GlossaForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    same(loaded(SOURCE, decoder_input_ids=TARGET).logits, before)
    for instance in (model, loaded):
        matrices = {
            "output": instance.lm_head.weight, "target": instance.model.decoder.embed_tokens.weight,
            "source": instance.model.encoder.embed_tokens.weight,
        }  # fmt: skip
        groups = [{"output", "target", "source"}] if tied and shared else [{"output", "target"}, {"source"}]
        if not tied:
            groups = [{"output"}, {"target"}, {"source"}]
        for group in groups:
            for changed in group:
                old = {name: matrix.detach().clone() for name, matrix in matrices.items()}
                with torch.no_grad():
                    matrices[changed].add_(1.0)
                moved = {name for name, matrix in matrices.items() if not torch.equal(matrix, old[name])}
                assert moved == group


@pytest.mark.parametrize(("tied", "shared"), TYINGS)
def test_model_without_head_ties_and_reloads(tiny_config, tmp_path, tied, shared):
    model = GlossaModel(tiny_config(tie_word_embeddings=tied, share_encoder_decoder_embeddings=shared)).eval()
    model.save_pretrained(tmp_path)
    loaded = GlossaModel.from_pretrained(tmp_path)
    for instance in (model, loaded):
        one = instance.encoder.embed_tokens.weight is instance.decoder.embed_tokens.weight
        assert one == (tied and shared)
    states = model(SOURCE, decoder_input_ids=TARGET).last_hidden_state
    same(loaded(SOURCE, decoder_input_ids=TARGET).last_hidden_state, states, 1e-5)  # float32


@torch.no_grad()
@pytest.mark.parametrize("scaled", [True, False])
def test_embeddings_are_scaled_then_get_positions_norm_and_dropout(tiny_model, scaled):
    settings = {"position_embedding_type": "learned", "embedding_norm": True, "norm_type": "layer", "dropout": 0.5}
    for side in ("encoder", "decoder"):
        part = getattr(tiny_model(**settings, scale_embedding=scaled).model, side)
        tokens, positions = part.embed_tokens(SOURCE), part.embeddings.embed_positions.weight[:6]
        summed = tokens * (4.0 if scaled else 1.0) + positions  # sqrt(16)
        centered = summed - summed.mean(-1, keepdim=True)
        deviation = (centered.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        expected = centered / deviation * part.embeddings.norm.weight + part.embeddings.norm.bias
        same(part.embeddings(tokens, torch.arange(6)[None])[0], expected)
        dropped = part.embeddings.train()(tokens, torch.arange(6)[None])[0]
        kept = dropped != 0
        assert 0.2 < kept.double().mean() < 0.8  # dropout comes after the norm, else nothing would be zero
        same(dropped[kept], 2 * expected[kept])


@torch.no_grad()
def test_sinusoidal_positions_equal_the_paper_except_for_the_order_of_dimensions(tiny_model):
    """Vaswani et al. 2017, section 3.5: PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos of the same."""
    model = tiny_model(position_embedding_type="sinusoidal", d_model=12, head_dim=4)
    ours = model.model.encoder.embeddings.embed_positions(torch.arange(600)[None], torch.float64)[0]
    for position in (0, 1, 2, 31, 599):
        for i in range(6):
            angle = position / 10000 ** (2 * i / 12)
            assert ours[position, i].item() == pytest.approx(math.sin(angle), abs=1e-9)
            assert ours[position, 6 + i].item() == pytest.approx(math.cos(angle), abs=1e-9)
    states, rotary = model.model.encoder.embeddings(
        torch.ones(1, 600, 12, dtype=torch.float64), torch.arange(600)[None]
    )
    same(states[0], ours + math.sqrt(12))
    assert rotary is None


def test_rotation_is_multiplication_by_complex_numbers():
    """Su et al. 2021, equation 12, with the pair (i, i + E/2) as one complex number."""
    states = torch.randn(1, 2, 9, 6, dtype=torch.float64)
    positions = torch.tensor([[0, 1, 2, 3, 5, 8, 13, 100, 511]])
    cos, sin = sinusoids(positions, 6, 500.0, torch.float64)
    turned = rotate(states, cos.unsqueeze(1), sin.unsqueeze(1))
    frequencies = torch.tensor([500.0 ** (-2 * i / 6) for i in range(3)], dtype=torch.float64)
    turns = torch.exp(1j * positions[0][:, None] * frequencies)
    expected = torch.complex(states[..., :3], states[..., 3:]) * turns
    same(turned, torch.cat((expected.real, expected.imag), -1))


def test_rotary_scores_depend_on_relative_position_only():
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64).expand(2, 1, 1, 20, 8)
    positions = torch.arange(20)[None]

    def scores(shift):
        cos, sin = (table.unsqueeze(1) for table in sinusoids(positions + shift, 8, 10000.0, torch.float64))
        return (rotate(query, cos, sin) @ rotate(key, cos, sin).transpose(2, 3))[0, 0]

    same(scores(0), scores(37))
    for distance in range(-19, 20):
        diagonal = scores(0).diagonal(distance)
        same(diagonal, diagonal[:1].expand_as(diagonal))
    assert (scores(0)[0, 0] - scores(0)[0, 5]).abs() > 1e-3


def test_only_learned_positions_enforce_the_maximum(tiny_model):
    source, target = torch.full((1, 33), 9), torch.full((1, 33), 9)
    for kind in ("rotary", "sinusoidal"):
        logits = tiny_model(position_embedding_type=kind)(source, decoder_input_ids=target).logits
        assert logits.shape == (1, 33, 50) and logits.isfinite().all()
    model = tiny_model(position_embedding_type="learned")
    assert model(source[:, :32], decoder_input_ids=target[:, :32]).logits.isfinite().all()
    with pytest.raises(ValueError, match=r"33 tokens; learned positions hold 32 .*max_source_positions"):
        model(source, decoder_input_ids=target[:, :4])
    with pytest.raises(ValueError, match=r"33 tokens; learned positions hold 32 .*max_target_positions"):
        model(source[:, :4], decoder_input_ids=target)


def test_decoder_input_is_the_labels_shifted_right(tiny_model):
    labels = torch.tensor([[5, 6, 1, -100], [7, 1, -100, -100]])
    shifted = torch.tensor([[2, 5, 6, 1], [2, 7, 1, 0]])
    assert shift_tokens_right(labels, 0, 2).equal(shifted)
    model = tiny_model()
    assert model.prepare_decoder_input_ids_from_labels(labels).equal(shifted)
    from_labels = model(SOURCE, labels=labels).logits
    same(from_labels, model(SOURCE, decoder_input_ids=shifted).logits)
    assert labels[0, 3] == -100  # the caller's labels are unchanged
