"""What is minimised where reads are sparse: an embedding table of which a worker's documents touch only some rows."""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.training.seeding import random_stream

_LENGTH = 12
"""Words of a document."""
_TEST_COUNT = 128
"""Test documents of a worker."""


class Vocabularies:
    """Softmax regression on bags of words, whose model is the table [words, classes] of their scores.

    A document scores Σ_words row / √length; its class is the best one by a table that is hidden. Words lie in as many
    blocks as there are workers, and the documents of worker w hold words of blocks w and w + 1 (of the last: of the
    first) alone, with equal chances. So a gradient reads and writes these two blocks, and is zero elsewhere.

    Args:
        worker_count: n.
        words_per_block: rows of a block.
        class_count: columns of the table.
        batch_size: documents in a usual batch.
        seed: of the hidden table, standard normal, and of all documents.

    Raises:
        ValueError: a count is no int of at least 1; there are at least 2 classes.

    Source: ours.
    """

    def __init__(
        self,
        worker_count: int,
        *,
        words_per_block: int = 16,
        class_count: int = 8,
        batch_size: int = 32,
        seed: int = 0,
    ) -> None:
        counts = {"worker_count": worker_count, "words_per_block": words_per_block, "batch_size": batch_size}
        for name, count in counts.items():
            require_count(name, count, least=1)
        require_count("class_count", class_count, least=2)
        self._words, self._classes, self._batch_size, self._seed = words_per_block, class_count, batch_size, seed
        shape = (worker_count * words_per_block, class_count)
        self._hidden = torch.randn(shape, dtype=torch.float64, generator=random_stream(seed, "hidden table"))
        self.initial = torch.zeros(self._hidden.numel(), dtype=torch.float64)
        self.block_sizes = (words_per_block * class_count,) * worker_count
        self.reads = self.writes = tuple(
            tuple(sorted({worker, (worker + 1) % worker_count})) for worker in range(worker_count)
        )
        self._test = torch.cat([self._documents(worker, -1, _TEST_COUNT) for worker in range(worker_count)])

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        """See `Problem`; the mean cross-entropy of the batch."""
        documents = self._documents(worker, step, max(1, round(batch * self._batch_size)))
        labels, rows = _scores(self._hidden, documents).argmax(dim=1), torch.arange(len(documents))
        logarithms = _scores(model.view_as(self._hidden), documents).log_softmax(dim=1)
        loss = -float(logarithms[rows, labels].mean())
        slopes = logarithms.exp()
        slopes[rows, labels] -= 1
        slopes /= len(documents) * _LENGTH**0.5
        gradient = torch.zeros_like(self._hidden)
        gradient.index_add_(0, documents.flatten(), slopes.repeat_interleave(_LENGTH, dim=0))
        return loss, gradient.flatten()

    def quality(self, model: Tensor) -> float:
        """Accuracy on test documents of all workers."""
        labels = _scores(self._hidden, self._test).argmax(dim=1)
        found = _scores(model.view_as(self._hidden), self._test).argmax(dim=1)
        return float((labels == found).double().mean())

    def _documents(self, worker: int, step: int, count: int) -> Tensor:
        """Words [count, length] int64 of the worker's documents; those of step −1 are for tests."""
        blocks, stream = torch.tensor(self.reads[worker]), random_stream(self._seed, "documents", worker, step)
        words = torch.randint(len(blocks) * self._words, (count, _LENGTH), generator=stream)
        return blocks[words // self._words] * self._words + words % self._words


def _scores(table: Tensor, documents: Tensor) -> Tensor:
    return torch.div(table[documents].sum(dim=1), _LENGTH**0.5)
