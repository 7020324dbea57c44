"""The page, opened in Chromium as a reader would, with names in it that try to run."""

import json

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
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

    def open_page(model="binary", *, folded=False, **words):
        place = folder if model == "binary" else mixed_folder
        found = Visit(chromium, (place / "report.html").as_uri(), **words)
        if not folded and words.get("java_script_enabled", True):
            found.page.evaluate("document.getElementById('unfold').click()")
        visits.append(found)
        return found

    yield open_page
    for one in visits:
        one.context.close()


@pytest.mark.slow_cases("binary-dark", "binary-light", "mixed-dark")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_nothing_is_loaded_from_outside_and_nothing_complains(visit, model, scheme):
    found = visit(model, color_scheme=scheme)
    found.page.wait_for_load_state("networkidle")
    # Hovering and clicking would set off what waits for it.
    found.page.mouse.move(200, 300)
    found.page.click("#cases thead button >> nth=1")
    assert found.trouble == []


@pytest.mark.slow_cases("binary")
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
    assert page.locator("#features-binary th[scope=row]").count() == (2 if model == "mixed" else 5)
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


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_the_contents_lead_to_every_section_in_order(visit, model):
    page = visit(model, viewport={"width": 1280, "height": 900}).page
    links = page.locator("#contents a").evaluate_all("all => all.map(a => a.hash.slice(1))")
    sections = page.locator("main section").evaluate_all("all => all.map(s => s.id)")
    assert links == ["verdict" if name == "summary" else name for name in sections]
    titles = page.locator("#contents a").all_inner_texts()
    assert titles == page.locator("main h2").all_inner_texts()
    page.click("#contents a >> text=What to do next")
    assert page.locator("#next h2").is_visible()


def test_the_contents_stand_beside_the_text_or_folded_above_it(visit):
    wide = visit(viewport={"width": 1280, "height": 900}).page
    contents, main = (wide.locator(name).bounding_box() for name in ("#contents", "main"))
    assert contents["x"] + contents["width"] < main["x"]
    assert main["width"] > 950
    narrow = visit(viewport={"width": 400, "height": 800}).page
    assert not narrow.locator("#contents ol").is_visible()
    narrow.click("#contents summary")
    assert narrow.locator("#contents ol").is_visible()
    narrow.click("#contents a >> nth=1")
    assert not narrow.locator("#contents ol").is_visible()


def test_without_a_script_the_contents_are_open(visit):
    page = visit(java_script_enabled=False, viewport={"width": 400, "height": 800}).page
    assert page.locator("#contents ol").is_visible()


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_pictures_fit_a_narrow_screen(visit, model):
    page = visit(model, viewport={"width": 400, "height": 800}).page
    for box in page.locator("img.light").all():
        found = box.bounding_box()
        assert found["x"] >= 0
        assert found["x"] + found["width"] <= 400


def test_slopes_and_scores_are_explained_where_they_stand(visit):
    page = visit().page
    assert "multiplies the evidence" in page.locator("#summary").inner_text()
    methods = page.locator("#methods").inner_text()
    assert "1 is well calibrated, below 1 is overconfident, above 1 underconfident" in methods
    assert "The sum over both classes, as Brier defined it, is twice this" in methods


def test_columns_are_listed_by_what_they_were_read_as(visit, mixed):
    page = visit("mixed", folded=True).page
    page.click("#columns summary")
    rows = page.locator("#columns-by-kind tbody tr")
    data = mixed.report.data
    assert rows.count() == 3
    texts = [" ".join(text.split()) for text in rows.all_inner_texts()]
    assert texts[0].startswith(f"continuous numbers, taken as they are {data.n_real} ")
    assert texts[1].startswith("binary ")
    assert "flag" in texts[1]
    assert texts[2].startswith("categorical ")
    assert "stage <u>" in texts[2]
    assert "and 32 more" in texts[0]
    assert page.locator("#overview").is_visible()
    assert page.locator("#overview tbody tr").count() == data.n_columns


def test_paper_shows_what_is_folded_and_no_contents(visit):
    page = visit("mixed", folded=True).page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#columns table").first.is_visible()
    assert not page.locator("#contents").is_visible()


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_a_checker_of_accessibility_finds_no_serious_fault(visit, model):
    page = visit(model, viewport={"width": 1280, "height": 900}, bypass_csp=True).page
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        violations = Axe().run(page).response["violations"]
        serious = [v["id"] for v in violations if v["impact"] in ("serious", "critical")]
        assert serious == [], [node["html"] for v in violations for node in v["nodes"]][:5]


def test_sections_that_a_first_reading_does_not_need_are_folded_and_open_by_a_link(visit):
    page = visit(folded=True, viewport={"width": 1280, "height": 900}).page
    assert page.locator("#methods table").is_visible()
    assert not page.locator("#cases").is_visible()
    page.click("#contents a >> text=Predictions")
    # The section opens when the browser reports the new address, which may be after the click.
    page.locator("#cases").wait_for(state="visible", timeout=5000)
    assert not page.locator("#tripod").is_visible()
    page.click("#unfold")
    assert page.locator("#tripod").is_visible()


@pytest.mark.parametrize("model", ["mixed", "binary"])
def test_no_word_on_the_page_needs_this_library_to_be_understood(visit, model):
    words = set(visit(model).page.locator("main").inner_text().lower().split())
    assert not words & {"ranking", "rankings", "prob_null"}
