"""The networks for text: tokens [n, window] in, a score for each possible next token [n, window, classes] out.

What is said of a place depends on the tokens up to there alone. Sources: Hochreiter and Schmidhuber (1997), "Long
short-term memory"; Vaswani et al. (2017), arXiv 1706.03762, with the norms in front, as Radford et al. (2019) have
them. Nothing is dropped at random.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

_LSTM_WIDTH = 256
_LSTM_LAYERS = 2
_GPT_WIDTH = 128
_GPT_HEADS = 4
_GPT_LAYERS = 4


def lstm(window: int, class_count: int) -> nn.Module:
    """Two layers of 256 cells between an embedding and a linear layer: 1,184,000 parameters on 256 classes."""
    del window
    return _Lstm(class_count)


def gpt(window: int, class_count: int) -> nn.Module:
    """Four blocks of width 128 with four heads: 875,264 parameters on windows of 128 and 256 classes."""
    return _Gpt(window, class_count)


class _Lstm(nn.Module):
    def __init__(self, class_count: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(class_count, _LSTM_WIDTH)
        self.cells = nn.LSTM(_LSTM_WIDTH, _LSTM_WIDTH, num_layers=_LSTM_LAYERS, batch_first=True)
        self.head = nn.Linear(_LSTM_WIDTH, class_count)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.cells(self.tokens(tokens))
        scores: Tensor = self.head(states)
        return scores


class _Gpt(nn.Module):
    def __init__(self, window: int, class_count: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(class_count, _GPT_WIDTH)
        self.places = nn.Embedding(window, _GPT_WIDTH)
        self.blocks = nn.Sequential(*(_Block() for _ in range(_GPT_LAYERS)))
        self.norm = nn.LayerNorm(_GPT_WIDTH)
        self.head = nn.Linear(_GPT_WIDTH, class_count, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        scores: Tensor = self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))
        return scores


class _Block(nn.Module):
    """x ↦ x + attention(norm(x)), then x ↦ x + mlp(norm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(_GPT_WIDTH)
        self.attention = _CausalAttention()
        self.mlp_norm = nn.LayerNorm(_GPT_WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(_GPT_WIDTH, 4 * _GPT_WIDTH), nn.GELU(), nn.Linear(4 * _GPT_WIDTH, _GPT_WIDTH)
        )

    def forward(self, states: Tensor) -> Tensor:
        states = states + self.attention(self.attention_norm(states))
        mixed: Tensor = states + self.mlp(self.mlp_norm(states))
        return mixed


class _CausalAttention(nn.Module):
    """Each place takes a mean of what itself and the places before it offer, in each head by weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.offers = nn.Linear(_GPT_WIDTH, 3 * _GPT_WIDTH)
        self.mix = nn.Linear(_GPT_WIDTH, _GPT_WIDTH)

    def forward(self, states: Tensor) -> Tensor:
        count, window, width = states.shape
        by_head = self.offers(states).view(count, window, 3, _GPT_HEADS, width // _GPT_HEADS)
        queries, keys, values = by_head.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.transpose(2, 3) / math.sqrt(width // _GPT_HEADS)
        later = torch.ones(window, window, dtype=torch.bool, device=states.device).triu(diagonal=1)
        weights = functional.softmax(scores.masked_fill(later, -math.inf), dim=-1)
        mixed: Tensor = self.mix((weights @ values).transpose(1, 2).flatten(2))
        return mixed
