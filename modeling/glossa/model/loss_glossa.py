"""Losses: cross-entropy with label smoothing, the alignment of words, the load of experts.

Shapes in comments: N positions, D width of the states, V vocabulary size.
"""

import torch

ALIGNMENT_WEIGHT = 0.05  # of the loss of the head that aligns words (Garg et al. 2019, section 5.2)
CHUNKS = {"cpu": 128, "cuda": 4096}  # labels: as many as fit a CPU's cache; as many as keep a GPU busy


def smoothed_cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_smoothing: float = 0.0,
    excluded_token_id: int | None = None,
    num_items_in_batch: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """Cross-entropy between smoothed labels and the model's distribution, in nats per token, in float32 or wider.

    Args:
        logits: [..., V].
        labels: [...]; -100 is ignored.
        label_smoothing: Probability taken from the label.
        excluded_token_id: With `None` that probability is spread evenly over all V tokens; with a token (padding),
            over the V - 2 tokens that are neither the label nor this one.
        num_items_in_batch: Divisor of the sum; the number of labels if not given.
    """
    labels = labels.flatten().to(logits.device)  # [N]
    precision = torch.promote_types(logits.dtype, torch.float32)
    log_probabilities = logits.flatten(0, -2).log_softmax(-1, dtype=precision)  # [N, V]
    smoothing = label_smoothing, excluded_token_id
    costs = _smoothed_costs(log_probabilities, labels.clamp(min=0), smoothing).masked_fill(labels == -100, 0)
    return _mean(costs.sum(), labels, num_items_in_batch)


def chunked_cross_entropy(
    states: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    label_smoothing: float = 0.0,
    excluded_token_id: int | None = None,
    num_items_in_batch: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """`smoothed_cross_entropy` of the logits `states` [..., D] times `weight` [V, D], computed in chunks.

    Logits, their softmax and its gradient exist for one chunk of labels at a time (`CHUNKS`). This saves memory, and
    on a CPU time, since a chunk stays in the cache. Positions without a label are skipped.

    Raises `RuntimeError` in the backward pass with `create_graph=True`: there is no second derivative.
    """
    labels = labels.to(states.device).flatten()
    real = labels != -100
    states = states.reshape(len(labels), -1)[real]  # [N, D]
    total = _ChunkedCrossEntropy.apply(states, weight, labels[real], (label_smoothing, excluded_token_id))
    return _mean(total, labels, num_items_in_batch)


def alignment_loss(
    scores: torch.Tensor,
    alignments: torch.Tensor,
    attention_mask: torch.Tensor | None,
    labels: torch.Tensor,
    num_items_in_batch: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """The term of the training loss for the head that aligns words (Garg et al. 2019, section 4.2).

    It is the cross-entropy between the links of a label and what the head attends to where the decoder predicts it.

    Args:
        scores: [B, T, S], of the head before the softmax.
        alignments: [B, T, S], for each label shares of source tokens that sum to 1, or zeros if it has no links.
        attention_mask: [B, S], 0 at source padding.
        labels: [B, T], -100 if there is none.
        num_items_in_batch: Divisor of the sum; the number of labels if not given.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if attention_mask is not None:
        scores = scores.masked_fill(attention_mask[:, None, :] == 0, torch.finfo(scores.dtype).min)
    costs = -(alignments * scores.log_softmax(-1)).sum()
    return ALIGNMENT_WEIGHT * _mean(costs, labels, num_items_in_batch)


def load_balancing_loss(
    router_logits: torch.Tensor, experts_per_token: int, mask: torch.Tensor | None
) -> torch.Tensor:
    """How unevenly one layer loads its experts (Fedus et al. 2021, equations 4 to 6); k if it is even.

    Args:
        router_logits: [N, experts].
        experts_per_token: k, the choices of each token.
        mask: [B, L], 0 at tokens that do not count (padding); all count if not given.
    """
    probabilities = router_logits.softmax(-1)
    chosen = torch.zeros_like(probabilities).scatter_(1, probabilities.topk(experts_per_token).indices, 1.0)
    if mask is not None:
        counted = mask.flatten().bool()
        probabilities, chosen = probabilities[counted], chosen[counted]
    return probabilities.shape[-1] * (chosen.mean(0) * probabilities.mean(0)).sum()


def _masses(vocabulary: int, smoothing: tuple[float, int | None]) -> tuple[float, float]:
    """The extra probability of the label, and the probability of every token that is not excluded."""
    amount, excluded = smoothing
    everywhere = amount / vocabulary if excluded is None or amount == 0 else amount / (vocabulary - 2)
    return 1 - amount - (0 if excluded is None else everywhere), everywhere


def _smoothed_costs(
    log_probabilities: torch.Tensor, labels: torch.Tensor, smoothing: tuple[float, int | None]
) -> torch.Tensor:
    """Cross-entropy [N] with log-probabilities [N, V] for labels [N] without -100."""
    label, everywhere = _masses(log_probabilities.shape[-1], smoothing)
    costs = -label * log_probabilities.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    if everywhere:
        costs = costs - everywhere * log_probabilities.sum(-1)
        if smoothing[1] is not None:
            costs = costs + everywhere * log_probabilities[:, smoothing[1]]
    return costs


def _mean(total: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None) -> torch.Tensor:
    if num_items_in_batch is None:
        return total / (labels != -100).sum()
    if torch.is_tensor(num_items_in_batch):
        num_items_in_batch = num_items_in_batch.to(total.device)
    return total / num_items_in_batch


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Sum of the smoothed costs of states [N, D], weight [V, D] and labels [N] without -100.

    The forward pass also computes the gradient, from the softmax of each chunk; the backward pass scales it. All
    chunks share one buffer: on a CPU, allocating a new one takes as long as the softmax.
    """

    @staticmethod
    def forward(ctx, states, weight, labels, smoothing):
        device = states.device.type
        mixed = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        precision = torch.promote_types(mixed, torch.float32)
        output_layer = weight.to(mixed)
        rows = CHUNKS.get(device, CHUNKS["cuda"])
        rows = max(-(-len(labels) // max(round(len(labels) / rows), 1)), 1)  # chunks of equal size, close to `rows`
        logits = states.new_empty(min(rows, len(labels)), weight.shape[0], dtype=mixed)
        scores = logits if mixed == precision else torch.empty_like(logits, dtype=precision)
        total = states.new_zeros((), dtype=precision)
        state_gradient = torch.empty_like(states) if ctx.needs_input_grad[0] else None
        # In bfloat16, the sum of many chunks would lose bits.
        sums = torch.promote_types(weight.dtype, torch.float32)
        weight_gradient = torch.zeros_like(weight, dtype=sums) if ctx.needs_input_grad[1] else None
        with torch.autocast(device, enabled=False):
            for start in range(0, len(labels), rows):
                chunk = slice(start, start + rows)
                inputs, targets = states[chunk].to(mixed), labels[chunk]
                gradient = logits[: len(targets)]
                probabilities = gradient if scores is logits else scores[: len(targets)]
                torch.mm(inputs, output_layer.t(), out=gradient)
                probabilities.copy_(gradient)
                torch.log_softmax(probabilities, -1, out=probabilities)
                total += _smoothed_costs(probabilities, targets, smoothing).sum()
                _costs_to_gradient(probabilities, targets, smoothing)
                gradient.copy_(probabilities)
                if state_gradient is not None:
                    state_gradient[chunk] = gradient @ output_layer
                if weight_gradient is not None and weight_gradient.dtype == mixed:
                    weight_gradient.addmm_(gradient.t(), inputs)
                elif weight_gradient is not None:
                    weight_gradient += gradient.t() @ inputs
        ctx.save_for_backward(state_gradient, None if weight_gradient is None else weight_gradient.to(weight.dtype))
        return total

    @staticmethod
    def backward(ctx, total_gradient):
        if torch.is_grad_enabled():  # the saved gradients are constants, so their own gradient would be wrong
            raise RuntimeError(
                "A loss without logits has no second derivative. Leave out return_logits=False, and set "
                'attn_implementation="eager".'
            )
        gradients = (None if saved is None else saved * total_gradient for saved in ctx.saved_tensors)
        return *gradients, None, None


def _costs_to_gradient(
    log_probabilities: torch.Tensor, targets: torch.Tensor, smoothing: tuple[float, int | None]
) -> None:
    """Replace log-probabilities [N, V] by the gradient of the smoothed costs: softmax minus smoothed distribution."""
    label, everywhere = _masses(log_probabilities.shape[-1], smoothing)
    gradient = log_probabilities.exp_().sub_(everywhere)
    gradient[torch.arange(len(targets), device=targets.device), targets] -= label
    if smoothing[1] is not None:
        gradient[:, smoothing[1]] += everywhere
