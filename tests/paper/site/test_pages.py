"""Every page is well formed, every link leads somewhere on the site, and evidence is one click away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from paper.claims import CLAIMS
from paper.results import result
from paper.site.pages import TOP_PAGES
from paper.site.races import race_data
from paper.site.sources import ROOT
from paper.statements.sources import references
from paper.studies.races.times import at_target, policies
from sparsync.theory.statements import STATEMENTS

LARGEST_PAGE_BYTES = 1_000_000
LARGEST_SITE_BYTES = 40_000_000
_LINK = re.compile(r'<(\w+)[^>]*?\s(?:href|src)="([^"]*)"')
_ANCHOR = re.compile(r'\sid="([^"]*)"')


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def links(page: Path) -> list[tuple[str, str]]:
    """The element and the address of every link, picture, script and style."""
    return [(tag, unescape(address)) for tag, address in _LINK.findall(text(page))]


@cache
def anchors(page: Path) -> frozenset[str]:
    return frozenset(_ANCHOR.findall(text(page)))


def faults(site: Path, page: Path) -> Iterator[str]:
    """What is wrong with the links of a page."""
    cited = {found.address for found in references()}
    for tag, address in links(page):
        if "://" in address:
            if tag != "a" or address not in cited:
                yield f"{tag} {address} leads elsewhere"
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not (target.is_file() and target.is_relative_to(site.resolve())):
            yield f"{address} leads nowhere"
        # The hash of the list of statements is its filter.
        elif anchor and target.suffix == ".html" and "=" not in anchor and anchor not in anchors(target):
            yield f"{address} has no such anchor"


def clicks(page: Path) -> set[Path]:
    """The files to which one click on a page leads."""
    return {(page.parent / address.partition("#")[0]).resolve() for tag, address in links(page) if tag == "a"}


def test_every_link_leads_to_a_file_and_an_anchor_of_the_site_or_to_a_cited_source(site: Path) -> None:
    wrong = {str(page.relative_to(site)): found for page in pages(site) if (found := list(faults(site, page)))}
    assert wrong == {}


def test_the_checker_of_links_sees_a_missing_file_a_missing_anchor_and_a_request(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        '<a href="b.html">x</a><a href="#here" id="here">y</a><a class="z" href="#there">z</a>'
        '<img src="https://e.org/p.png"/><a href="https://e.org">e</a><a href="../c.html">c</a>'
    )
    assert list(faults(tmp_path, page)) == [
        "b.html leads nowhere",
        "#there has no such anchor",
        "img https://e.org/p.png leads elsewhere",
        "a https://e.org leads elsewhere",
        "../c.html leads nowhere",
    ]


def test_every_page_is_well_formed(site: Path) -> None:
    for page in pages(site):
        root = ElementTree.fromstring(text(page))
        assert root.tag == "html", page
        found = _ANCHOR.findall(text(page))
        assert len(found) == len(set(found)), page


def test_nothing_that_a_page_loads_names_a_place_elsewhere(site: Path) -> None:
    for path in (site / "assets").iterdir():
        assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\(", text(path)), path


def test_pages_and_site_are_small(site: Path) -> None:
    assert {page.name for page in pages(site) if page.stat().st_size > LARGEST_PAGE_BYTES} == set()
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < LARGEST_SITE_BYTES


def test_every_top_page_leads_to_every_other(site: Path) -> None:
    for name in TOP_PAGES:
        assert {(site / other).resolve() for other in TOP_PAGES} <= clicks(site / name)


def test_every_statement_has_a_page_with_its_mathematics_and_its_evidence_is_one_click_away(site: Path) -> None:
    listed = clicks(site / "statements.html")
    for label in STATEMENTS:
        page = site / "statements" / f"{label}.html"
        assert page.resolve() in listed
        assert 'display="block"' in text(page), label
        assert (site / "evidence" / f"{label}.json").resolve() in clicks(page)
    assert {page.stem for page in (site / "statements").iterdir()} == set(STATEMENTS)


def test_certificates_are_one_click_from_the_list_the_statement_and_the_claim(site: Path) -> None:
    files = result(ROOT / "paper" / "data", "verify").record("certificates").records("files")
    for file in files:
        certificate = (site / "certificates" / f"{file['name']}.json").resolve()
        assert certificate in clicks(site / "statements" / f"{file['label']}.html"), file["name"]
    certified = {str(file["label"]) for file in files}
    for claim in CLAIMS:
        for label in claim.statements:
            folder, name = ("certificates", None) if label in certified else ("evidence", label)
            there = {path.stem for path in clicks(site / "claims.html") if path.parent.name == folder}
            assert name in there or (name is None and there), claim.name
            assert (site / "statements" / f"{label}.html").resolve() in clicks(site / "claims.html")


def test_no_formula_is_shown_as_latex_because_it_could_not_be_set(site: Path) -> None:
    assert {page.name for page in pages(site) if 'class="latex"' in text(page)} == set()


def test_every_claim_has_results_a_command_and_a_test(site: Path) -> None:
    cards = text(site / "claims.html").split("<article")[1:]
    assert len(cards) == len(CLAIMS)
    for claim, card in zip(CLAIMS, cards, strict=True):
        assert f'id="{claim.name}"' in card
        assert 'href="data/' in card, claim.name
        assert 'class="command">make ' in card, claim.name
        assert 'href="source/tests/paper/test_claims.py.html#L' in card, claim.name


def test_the_chart_of_races_has_the_numbers_of_the_record() -> None:
    data = ROOT / "paper" / "data"
    (small, _), study = race_data(data)["studies"], result(data, "races")
    assert small["policies"] == policies(study)
    assert len(small["entrants"]) == 8 * len(small["policies"])
    (adsp,) = [
        found
        for found in small["entrants"]
        if (found["policy"], found["cluster"], found["selector"]) == ("adsp", "one_slow", "none")
    ]
    seconds = at_target(study, ("adsp", "one_slow", "none"), "seconds")
    assert seconds is not None
    assert adsp["target_seconds"] == pytest.approx(sum(seconds) / len(seconds), abs=0.005)
    assert len(adsp["accuracy"]) == len(adsp["low"]) == len(adsp["megabytes"]) == len(small["seconds"])
    assert all(
        low <= value <= high for low, value, high in zip(adsp["low"], adsp["accuracy"], adsp["high"], strict=True)
    )
