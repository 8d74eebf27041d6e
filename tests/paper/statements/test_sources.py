"""Every publication that a statement names is found in the references, and no other is taken for it."""

from __future__ import annotations

import pytest

from paper.statements.sources import named, references, source_list, with_links
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_publication_of_a_source_is_in_the_references(label: str) -> None:
    source = STATEMENTS[label].source
    found = list(named(source))
    assert all(found.year in source for found in found)
    assert with_links(source).count("](#") == len(found)


def test_two_years_of_one_group_of_authors_are_two_publications() -> None:
    assert [found.key for found in named("Thomsen, Taylor and Dieuleveut 2025, 2026; proof: ours")] == [
        "thomsen2025",
        "thomsen2026",
    ]


@pytest.mark.parametrize("source", ["Nobody 2019", "Shi et al. 2019", "Stich and Jaggi 2018"])
def test_a_publication_that_is_none_or_two_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="not one entry"):
        with_links(source)


def test_a_source_is_listed_with_its_title_and_address() -> None:
    (entry,) = (found for found in references() if found.key == "shi2019")
    assert entry.address == "https://arxiv.org/abs/1911.08772"
    assert source_list({entry}) == (
        '- <a id="shi2019"></a>Shi, Shaohuai; Chu, Xiaowen; Cheung, Ka Chun; See, Simon (2019): '
        "*[Understanding Top-k Sparsification in Distributed Deep Learning](https://arxiv.org/abs/1911.08772)*\n"
    )
