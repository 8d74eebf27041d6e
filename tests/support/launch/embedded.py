"""The embedded images, unpacked as this is imported: processes that are forked from one that has done so share them."""

from sparsync.experiments.training.data import load_dataset

load_dataset("embedded")
