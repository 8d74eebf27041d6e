"""The networks that planners know by name, as they are published, on PyTorch's meta device.

Sources: He, Zhang, Ren and Sun 2016 (ResNet-50); Simonyan and Zisserman 2015 (VGG-16, configuration D); Devlin et al.
2019 (BERT-large); Radford et al. 2019 (GPT-2); Touvron et al. 2023 (the 7 B of LLaMA).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

Sized = tuple[nn.Module, Tensor]
"""A model, and a batch of one example."""

_IMAGE = (1, 3, 224, 224)
_CLASS_COUNT = 1000
_VGG_STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def resnet50() -> Sized:
    """ResNet-50 on images of 224 × 224."""
    layers: list[nn.Module] = [_convolution(3, 64, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)]
    before = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(count):
            layers.append(_Bottleneck(before, width, stride=2 if stage and not block else 1))
            before = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, _CLASS_COUNT)]
    return nn.Sequential(*layers), torch.empty(_IMAGE, device="meta")


def vgg16() -> Sized:
    """VGG-16 on images of 224 × 224, without batch normalisation."""
    layers: list[nn.Module] = []
    width = 3
    for stage in _VGG_STAGES:
        for wider in stage:
            layers += [nn.Conv2d(width, wider, 3, padding=1), nn.ReLU(inplace=True)]
            width = wider
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for fewer, more in pairwise((width * 7 * 7, 4096, 4096)):
        layers += [nn.Linear(fewer, more), nn.ReLU(inplace=True), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(4096, _CLASS_COUNT)), torch.empty(_IMAGE, device="meta")


@dataclass(frozen=True)
class Transformer:
    """The sizes of a stack of blocks of attention and multilayer perceptron.

    Args:
        layers: blocks.
        width: of a token's state.
        heads: of attention.
        hidden: units of the perceptron.
        tokens: in the vocabulary.
        window: tokens of an example.
        is_gated: three matrices in the perceptron, no biases, norms without a shift, and no table of positions.
        is_causal: a token sees those before it alone.
        is_tied: the scores are read off with the table of the embeddings.
        segment_count: kinds of segments that are embedded too.
    """

    layers: int
    width: int
    heads: int
    hidden: int
    tokens: int
    window: int
    is_gated: bool = False
    is_causal: bool = True
    is_tied: bool = True
    segment_count: int = 0


TRANSFORMERS: dict[str, Transformer] = {
    "bert_large": Transformer(24, 1024, 16, 4096, 30522, 512, is_causal=False, segment_count=2),
    "gpt2": Transformer(12, 768, 12, 3072, 50257, 1024),
    "gpt2_xl": Transformer(48, 1600, 25, 6400, 50257, 1024),
    "llama_7b": Transformer(32, 4096, 32, 11008, 32000, 2048, is_gated=True, is_tied=False),
}
"""By name."""


def transformer(sizes: Transformer) -> Sized:
    """The model, and an example of a whole window."""
    with torch.device("meta"):
        return _Transformer(sizes), torch.zeros(1, sizes.window, dtype=torch.long)


def _named(name: str) -> Callable[[], Sized]:
    return lambda: transformer(TRANSFORMERS[name])


NETWORKS: dict[str, Callable[[], Sized]] = {
    "resnet50": resnet50,
    "vgg16": vgg16,
    **{name: _named(name) for name in TRANSFORMERS},
}
"""Every network by name."""


def _convolution(before: int, width: int, size: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, width, size, stride=stride, padding=size // 2, bias=False), nn.BatchNorm2d(width)
    )


class _Bottleneck(nn.Module):
    """x ↦ relu(shortcut(x) + F(x)), with a convolution in the shortcut where shapes change."""

    def __init__(self, before: int, width: int, *, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            _convolution(before, width, 1),
            nn.ReLU(inplace=True),
            _convolution(width, width, 3, stride=stride),
            nn.ReLU(inplace=True),
            _convolution(width, 4 * width, 1),
        )
        changes = stride > 1 or before != 4 * width
        self.shortcut = _convolution(before, 4 * width, 1, stride=stride) if changes else nn.Identity()

    def forward(self, images: Tensor) -> Tensor:
        return functional.relu(self.residual(images) + self.shortcut(images))


class _Transformer(nn.Module):
    """Embeddings, blocks, a norm, and scores; where the norms stand changes no size."""

    def __init__(self, sizes: Transformer) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.tokens, sizes.width)
        self.places = None if sizes.is_gated else nn.Embedding(sizes.window, sizes.width)
        self.segments = nn.Embedding(sizes.segment_count, sizes.width) if sizes.segment_count else None
        self.blocks = nn.Sequential(*(_Block(sizes) for _ in range(sizes.layers)))
        self.norm = _norm(sizes)
        self.scores = nn.Linear(sizes.width, sizes.tokens, bias=False)
        if sizes.is_tied:
            self.scores.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        if self.places is not None:
            states = states + self.places(torch.zeros_like(tokens[:1]))
        if self.segments is not None:
            states = states + self.segments(torch.zeros_like(tokens))
        scores: Tensor = self.scores(self.norm(self.blocks(states)))
        return scores


class _Block(nn.Module):
    def __init__(self, sizes: Transformer) -> None:
        super().__init__()
        self._sizes = sizes
        width, bias = sizes.width, not sizes.is_gated
        self.attention_norm, self.perceptron_norm = _norm(sizes), _norm(sizes)
        self.offers = nn.Linear(width, 3 * width, bias=bias)
        self.mix = nn.Linear(width, width, bias=bias)
        self.gate = nn.Linear(width, sizes.hidden, bias=bias) if sizes.is_gated else None
        self.widen = nn.Linear(width, sizes.hidden, bias=bias)
        self.narrow = nn.Linear(sizes.hidden, width, bias=bias)

    def forward(self, states: Tensor) -> Tensor:
        states = states + self._attended(self.attention_norm(states))
        inner = self.perceptron_norm(states)
        wide = self.widen(inner)
        active = functional.gelu(wide) if self.gate is None else functional.silu(self.gate(inner)) * wide
        result: Tensor = states + self.narrow(active)
        return result

    def _attended(self, states: Tensor) -> Tensor:
        count, window, width = states.shape
        by_head = self.offers(states).view(count, window, 3, self._sizes.heads, width // self._sizes.heads)
        queries, keys, values = by_head.permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(queries, keys, values, is_causal=self._sizes.is_causal)
        mixed: Tensor = self.mix(found.transpose(1, 2).reshape(count, window, width))
        return mixed


def _norm(sizes: Transformer) -> nn.Module:
    return nn.RMSNorm(sizes.width) if sizes.is_gated else nn.LayerNorm(sizes.width)
