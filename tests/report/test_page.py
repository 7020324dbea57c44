"""The page, opened in Chromium as a reader would, with names in it that try to run."""

import json

import numpy as np
import pytest
from hostile_table import HOSTILE, LABELS
from mixed_table import STAGES


class Visit:
    """A page that was opened, and everything suspicious that happened meanwhile."""

    def __init__(self, browser, address, **words):
        self.context = browser.new_context(offline=True, **words)
        self.page = self.context.new_page()
        self.trouble = []
        self.page.on("console", lambda m: self.trouble.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda e: self.trouble.append(f"error: {e}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.address = address
        self.page.goto(address)

    def _dialog(self, dialog):
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if request.url != self.address and not request.url.startswith("data:"):
            self.trouble.append(f"request: {request.url}")


@pytest.fixture
def visit(chromium, folder, mixed_folder):
    visits = []

    def open_page(model="binary", **words):
        place = folder if model == "binary" else mixed_folder
        found = Visit(chromium, (place / "report.html").as_uri(), **words)
        visits.append(found)
        return found

    yield open_page
    for one in visits:
        one.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_nothing_is_loaded_from_outside_and_nothing_complains(visit, model, scheme):
    found = visit(model, color_scheme=scheme)
    found.page.wait_for_load_state("networkidle")
    # Hovering and clicking would set off what waits for it.
    found.page.mouse.move(200, 300)
    found.page.click("#cases thead button >> nth=1")
    assert found.trouble == []


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_all_pictures_are_there_and_have_a_text_instead(visit, model):
    page = visit(model).page
    names = (
        "reliability-uncorrected",
        "reliability-in-use",
        "errors",
        "scatter",
        "benefit",
        "path",
    )
    assert page.locator("#posterior").count() == (model == "binary")
    for name in (*names, "posterior") if model == "binary" else names:
        picture = page.locator(f"#picture-{name}-light")
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
        assert len(picture.get_attribute("alt")) > 40


def test_dark_readers_get_dark_pictures_and_paper_gets_light_ones(visit):
    background = "getComputedStyle(document.body).backgroundColor"

    def shown(page):
        return [
            page.locator(f"#picture-errors-{theme}").is_visible() for theme in ("light", "dark")
        ]

    assert shown(visit(color_scheme="light").page) == [True, False]
    dark = visit(color_scheme="dark").page
    assert shown(dark) == [False, True]
    assert dark.evaluate(background) == "rgb(21, 24, 28)"
    dark.emulate_media(media="print")
    assert shown(dark) == [True, False]
    assert dark.evaluate(background) == "rgb(255, 255, 255)"


def column(page, position):
    return page.locator(f"#cases tbody tr td:nth-child({position})").all_text_contents()


def test_sorting_sorts_numbers_as_numbers_up_and_down(visit, analysis):
    page = visit().page
    head = page.locator("#cases thead th >> nth=3")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    expected = sorted(np.clip(analysis.report.cases.held_out, 1 / 62, 61 / 62).tolist())
    assert [float(p.lstrip("<> ")) for p in column(page, 4)] == pytest.approx(
        expected[:25], abs=1.1e-3
    )
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(p.lstrip("<> ")) for p in column(page, 4)] == pytest.approx(
        expected[::-1][:25], abs=1.1e-3
    )
    page.locator("#cases thead button >> nth=0").click()
    assert column(page, 1)[:12] == [str(i) for i in range(1, 13)]


def test_searching_finds_cases_by_any_words_and_pages_turn(visit, analysis):
    page = visit().page
    assert page.locator("#found").text_content() == "60 cases"
    page.click("#next")
    assert column(page, 1)[0] == "26"
    page.fill("#search", "=17' onerror")
    assert column(page, 1) == ["18"]
    assert page.locator("#found").text_content() == "1 case"
    page.fill("#search", "nobody")
    assert column(page, 1) == []
    page.fill("#search", "onmouseover")
    negatives = int((analysis.report.cases.actual == 0).sum())
    assert page.locator("#found").text_content() == f"{negatives} cases"


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_hostile_names_are_shown_as_they_are(visit, model):
    page = visit(model).page
    text = page.locator("body").inner_text()
    levels = STAGES if model == "mixed" else ()
    for name in (*HOSTILE, *LABELS, *levels):
        assert " ".join(name.split()) in " ".join(text.split())
    assert page.locator("#features th[scope=row]").count() == (2 if model == "mixed" else 5)
    if model == "mixed":
        assert page.locator("#features-real th[scope=row]").count() == 5
        assert page.locator("#features-categorical tbody th").count() == 2
    assert (
        page.evaluate(
            "document.querySelectorAll('main script:not([type]), svg, b[onmouseover]').length"
        )
        == 0
    )


@pytest.mark.parametrize("width", [320, 390, 1200])
@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_the_page_does_not_scroll_sideways(visit, model, width):
    page = visit(model, viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_policy_forbids_what_the_page_does_not_need(visit):
    found = visit()
    policy = found.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    found.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    assert found.page.evaluate("window.ran") is None


def test_without_a_script_the_first_cases_and_all_sections_are_there(visit, analysis):
    page = visit(java_script_enabled=False).page
    assert page.locator("#cases tbody tr").count() == 25
    for section in (
        "summary",
        "kept",
        "discarded",
        "path",
        "calibration",
        "thresholds",
        "settings",
    ):
        assert page.locator(f"#{section}").is_visible()
    assert analysis.report.command in page.locator("#command").inner_text()


def test_the_json_in_the_page_is_json(visit, analysis):
    page = visit().page
    data = json.loads(page.locator("#case-data").text_content())
    assert len(data["rows"]) == 60
    name = analysis.report.cases.identifier[0]
    assert "\u202e" in name  # text from right to left, of which the page shows a sign
    assert data["rows"][0][1] == name.replace("\u202e", "\ufffd")
