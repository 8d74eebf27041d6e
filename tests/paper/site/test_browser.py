"""In a browser: no error and no request, all by keyboard, light and dark. Skipped where there is no Chromium."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest
from matplotlib.image import imread

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
PAGES = (
    *("index.html", "claims.html", "statements.html", "figures.html", "races.html", "report.html"),
    "statements/ef_tight_rate.html",
    "source/theory/contraction/ladder.py.html",
)
MOST_TABS = 60
NARROW, WIDE = {"width": 390, "height": 800}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        # The sandbox needs rights that root in a container lacks.
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test if anything was said on the console or asked of another place."""
    context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    opened, said = context.new_page(), []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    yield opened
    context.close()
    assert said == []


def shade(page: Page) -> tuple[float, float]:
    """The mean and the spread of the brightness of what is seen."""
    pixels = numpy.asarray(imread(io.BytesIO(page.screenshot())))[:, :, :3].mean(axis=2)
    return float(numpy.median(pixels)), float(pixels.std())


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_seen_in_light_and_in_dark_and_fits_a_narrow_screen(name: str, site: Path, page: Page) -> None:
    for scheme, (darkest, brightest) in {"light": (0.8, 1.0), "dark": (0.0, 0.3)}.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(f"file://{site}/{name}")
        brightness, spread = shade(page)
        assert darkest <= brightness <= brightest
        assert spread > 0.02, "a blank page has no spread"
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def visible(page: Page) -> list[str]:
    shown = "items => items.filter(i => !i.hidden).map(i => i.querySelector('.foot code').textContent)"
    return [str(label) for label in page.eval_on_selector_all(".statement", shown)]


def tab_to(page: Page, selector: str, *, key: str = "Tab") -> None:
    """Press a key until an element has the focus, and see that the focus shows."""
    for _ in range(MOST_TABS):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{selector} is not reached by {MOST_TABS} tabs")


def test_statements_are_filtered_from_the_keyboard_and_the_address_keeps_the_filter(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/statements.html")
    everything = visible(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    tab_to(page, "input[name=text]")
    page.keyboard.type("heavy ball")
    found = visible(page)
    assert "delayed_momentum_limit" in found
    assert 0 < len(found) < len(everything)
    assert page.inner_text("#count") == f"{len(found)} of {len(everything)} statements"
    page.reload()
    assert visible(page) == found
    tab_to(page, "button[type=reset]")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "words => document.getElementById('count').textContent === words", arg=f"{len(everything)} statements"
    )
    tab_to(page, "select[name=grade]", key="Shift+Tab")
    page.keyboard.type("formal")
    grades = page.eval_on_selector_all(".statement:not([hidden])", "items => items.map(i => i.dataset.grade)")
    assert grades
    assert all("formal" in grade.split() for grade in grades)


def test_an_address_chooses_a_filter(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/statements.html#certificate=yes")
    assert "ef_tight_rate" in visible(page)
    assert len(visible(page)) < 20


def test_without_scripts_all_statements_are_listed_and_no_dead_form(site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{site}/statements.html")
    assert page.locator(".statement").first.is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator("#theme").is_visible()
    context.close()


def test_the_choice_of_light_or_dark_is_remembered(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/index.html")
    tab_to(page, "#theme")
    page.keyboard.press("Enter")
    assert shade(page)[0] < 0.3
    page.goto(f"file://{site}/statements/top_k.html")
    assert shade(page)[0] < 0.3
    assert page.inner_text("#theme") == "Light"


def test_races_are_explored_from_the_keyboard_and_the_table_follows(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/races.html")
    lines = page.locator("#chart .line")
    before = lines.count()
    tab_to(page, "input[value=dssp]")
    page.keyboard.press("Space")
    assert lines.count() == before + 1
    tab_to(page, "#chart")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#readout").startswith("5 s: ")
    rows = page.locator("#table tbody tr")
    sent = rows.nth(0).inner_text()
    page.select_option("select[name=selector]", "top_k")
    assert rows.nth(0).inner_text() != sent
    page.select_option("select[name=axis]", "megabytes")
    assert "MB sent" in page.locator("#chart .axis").first.text_content()  # type: ignore[operator]
    page.select_option("select[name=study]", "race_finals")
    assert rows.count() == 7
    assert page.input_value("select[name=cluster]") == "one_slow"
    page.click("button[data-choose=none]")
    assert lines.count() == 0
    assert page.inner_text("#readout") == "No policy is chosen."


def test_a_click_on_a_claim_leads_to_its_certificate(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/claims.html#tight_rate")
    page.click("#tight_rate a:has-text('certificates')")
    assert page.url.endswith("/certificates/error_feedback.json")
    assert '"certificates"' in page.inner_text("body")
