"""A mixture of experts in place of the feed-forward, and the loss that balances their load.

Shapes in comments: B sequences, L tokens of each, N = B * L tokens, D width of the states, k experts per token.
"""

import torch
from torch import nn

from .configuration_glossa import GlossaConfig
from .layers_glossa import GlossaFeedForward


def load_balancing_loss(
    router_logits: torch.Tensor, experts_per_token: int, mask: torch.Tensor | None
) -> torch.Tensor:
    """How unevenly one layer loads its experts (Fedus et al. 2021, equations 4 to 6); k if it is even.

    experts x sum over experts of (choices of the expert / tokens) x (mean probability of the expert)

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


class GlossaRouter(nn.Module):
    """Logits of N tokens [N, D] for each expert, in float32 or wider (Fedus et al. 2021, section 2.4)."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        # Not a linear layer, so that adapters and quantization, which compute in other precisions, leave it alone.
        self.weight = nn.Parameter(torch.empty(config.num_local_experts, config.d_model))  # type: ignore[arg-type]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        precision = torch.promote_types(states.dtype, torch.float32)
        with torch.autocast(states.device.type, enabled=False):
            return states.to(precision) @ self.weight.to(precision).t()


class GlossaExperts(nn.Module):
    """A mixture of experts in place of the feed-forward: a router sends each token to a few of several networks.

    With one expert per token its output is multiplied by the router's probability (Fedus et al. 2021, equation 2),
    with several by their probabilities, which are divided by their sum (Jiang et al. 2024, section 2.1). Shared
    experts read every token and are added (Dai et al. 2024, section 3.2). No token is dropped: experts have no
    capacity.
    """

    def __init__(self, config: GlossaConfig, inner_dim: int):
        super().__init__()
        self.experts_per_token = config.num_experts_per_tok
        self.router = GlossaRouter(config)
        experts: int = config.num_local_experts  # type: ignore[assignment]  # this class is used only if it is set
        self.experts = nn.ModuleList(GlossaFeedForward(config, inner_dim) for _ in range(experts))
        shared = config.num_shared_experts
        self.shared_experts = GlossaFeedForward(config, shared * inner_dim) if shared else None

    def forward(self, hidden_states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[B, L, D] to [B, L, D], and the router's logits [B * L, experts]."""
        tokens = hidden_states.flatten(0, 1)  # [N, D]
        router_logits = self.router(tokens)
        weights, chosen = router_logits.softmax(-1).topk(self.experts_per_token)  # [N, k] each
        if self.experts_per_token > 1:
            weights = weights / weights.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)  # [N * k], the choices sorted by expert
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        rows = order // self.experts_per_token
        # With gradients an expert without tokens runs too: distributed training needs a gradient of every weight.
        outputs = torch.cat(
            [
                expert(states)
                for expert, states in zip(self.experts, tokens[rows].split(counts), strict=True)
                if len(states) or torch.is_grad_enabled()
            ]
        )
        weighted = outputs * weights.flatten()[order].unsqueeze(-1)  # [N * k, D]
        output = torch.zeros_like(tokens) if self.shared_experts is None else self.shared_experts(tokens)
        output = output.index_add(0, rows, weighted.to(output.dtype))
        return output.view_as(hidden_states), router_logits


def build_feed_forward(config: GlossaConfig, inner_dim: int) -> GlossaFeedForward | GlossaExperts:
    kind = GlossaFeedForward if config.num_local_experts is None else GlossaExperts
    return kind(config, inner_dim)


def apply_feed_forward(
    feed_forward: GlossaFeedForward | GlossaExperts, states: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The output [B, L, D], and the router's logits [B * L, experts] or None."""
    if isinstance(feed_forward, GlossaExperts):
        return feed_forward(states)
    return feed_forward(states), None
