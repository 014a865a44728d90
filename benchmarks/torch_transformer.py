"""`torch.nn.Transformer` as a translator, to compare with."""

import torch
from torch import nn

from glossa.configuration_glossa import GlossaConfig
from glossa.layers_glossa import sinusoids
from glossa.modeling_glossa import shift_tokens_right

from .sizes import DROPOUT, LABEL_SMOOTHING


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` as a translator, as its documentation shows it: masks are made for every batch."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model, config.pad_token_id)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.transformer = nn.Transformer(
            config.d_model,
            config.encoder_attention_heads,
            config.encoder_layers,
            config.decoder_layers,
            config.encoder_ffn_dim,
            DROPOUT,
            batch_first=True,
        )
        for module in self.transformer.modules():
            # Dropout in the same places as the other contenders: on embeddings and on the output of sublayers.
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0
        positions = torch.arange(config.max_source_positions)
        table = torch.cat(sinusoids(positions, config.d_model, 10000.0, torch.float32), dim=-1)
        self.register_buffer("positions", table)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor, **kwargs):
        """The loss for source [B, S] and labels [B, T]."""
        start, padding = self.config.decoder_start_token_id, self.config.pad_token_id
        target = shift_tokens_right(labels, padding, start)
        hidden = attention_mask == 0  # [B, S]
        states = self.transformer(
            self._embed(input_ids),
            self._embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1], target.device, torch.bool),
            src_key_padding_mask=hidden,
            tgt_key_padding_mask=target == padding,
            memory_key_padding_mask=hidden,
        )  # [B, T, D]
        logits = nn.functional.linear(states, self.embedding.weight)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), label_smoothing=LABEL_SMOOTHING
        )
        return {"loss": loss}

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        embedded = self.embedding(ids) * self.config.d_model**0.5
        return self.dropout(embedded + self.positions[: ids.shape[1]])  # type: ignore[index]
