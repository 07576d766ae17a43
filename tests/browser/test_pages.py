"""Every page in Chromium: it draws its charts, asks nobody for anything, and nothing complains; by
mouse, by keyboard, on a narrow screen, and in light and dark colours.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from build.chromium import Browser, Tab, chromium, connected, running
from tests.browser.sample_pages import HOSTILE, LARGE, PAGES, large, of_explain

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_DOWNLOAD_SECONDS_MAX = 30
# Charts that have a picture which is not of one colour.
_DRAWN = """[...document.querySelectorAll('.box')].map((box) => {
  const canvas = box.querySelector('canvas');
  if (!canvas) return 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
})"""
_SCROLLED = """(async () => {
  document.querySelectorAll('details').forEach((each) => { each.open = true; });
  for (const box of document.querySelectorAll('.box')) {
    box.scrollIntoView();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
})()"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    binary = chromium()
    if binary is None:
        # Where all checks run, none is left out without a word.
        assert not os.environ.get("CI"), "apt-get install chromium"
        pytest.skip("there is no Chromium: apt-get install chromium, or set CHROMIUM")
    with running(binary) as found:
        yield found


async def opened(chromium_: Browser, file: Path, width: int = 1280, *, dark: bool = False) -> Tab:
    tab = await chromium_.tab()
    await tab.view(width, 900, dark=dark)
    await tab.open(file.as_uri())
    await tab.evaluate(_SCROLLED)
    return tab


def written(name: str, folder: Path) -> Path:
    file = folder / f"{name}.html"
    file.write_text(PAGES[name](), "utf-8")
    return file


def quiet(tab: Tab, file: Path) -> None:
    assert tab.complaints == []
    assert tab.asked == [file.as_uri()]


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_draws_all_its_charts_in_every_setting(
    name: str, tmp_path: Path, address: str
) -> None:
    file = written(name, tmp_path)
    async with connected(address) as chromium_:
        for width, dark in ((1280, False), (1280, True), (360, False)):
            tab = await opened(chromium_, file, width, dark=dark)
            drawn = await tab.evaluate(_DRAWN)
            assert len(drawn) >= 2
            assert min(drawn) > 3, (width, dark)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
            background = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(20, 25, 31)") is dark
            # Each chart says what it shows to those who do not see it.
            assert await tab.evaluate(
                "[...document.querySelectorAll('.box')].every((box) =>"
                " box.getAttribute('aria-label')?.length > 20)"
            )
            quiet(tab, file)


@pytest.mark.parametrize("name", PAGES)
async def test_the_keyboard_reaches_all_that_can_be_used(
    name: str, tmp_path: Path, address: str
) -> None:
    file = written(name, tmp_path)
    async with connected(address) as chromium_:
        tab = await opened(chromium_, file)
        await tab.evaluate("scrollTo(0, 0)")
        expected = await tab.evaluate(
            "[...document.querySelectorAll('a, button, select, input, summary, [tabindex=\"0\"]')]"
            ".filter((each) => each.checkVisibility()).length"
        )
        reached = await tab.evaluate("(globalThis.reached = new Set()).size")
        assert reached == 0
        for _ in range(expected):
            await tab.press("Tab")
            reached = await tab.evaluate("reached.add(document.activeElement).size")
        assert reached == expected
        # Arrow keys go through a chart and read out what is there.
        await tab.evaluate("document.querySelector('.box').focus()")
        spoken = "document.querySelector('.box').closest('figure').querySelector('[aria-live]')"
        await tab.press("ArrowRight")
        first = await tab.evaluate(f"{spoken}.textContent")
        await tab.press("End")
        assert first
        assert await tab.evaluate(f"{spoken}.textContent") not in ("", first)
        await tab.press("Escape")
        quiet(tab, file)


async def test_buttons_change_the_colours_the_view_and_the_table(
    tmp_path: Path, address: str
) -> None:
    file = written("explain", tmp_path)
    async with connected(address) as chromium_:
        tab = await opened(chromium_, file)
        background = "getComputedStyle(document.body).backgroundColor"
        light = await tab.evaluate(background)
        await tab.click("#theme")
        assert await tab.evaluate(background) != light
        await tab.click("#theme")
        assert await tab.evaluate(background) == light
        pixels = "document.querySelector('.box canvas').toDataURL()"
        before = await tab.evaluate(pixels)
        await tab.evaluate(
            "(() => { const view = document.querySelector('select'); view.value = '1';"
            " view.dispatchEvent(new Event('change')); })()"
        )
        await tab.settled()
        assert await tab.evaluate(pixels) != before
        cells = "[...document.querySelectorAll('table')[0].querySelectorAll('td:first-child')]"
        names = f"{cells}.map((each) => each.textContent)"
        unsorted = await tab.evaluate(names)
        await tab.click("table th button")
        assert await tab.evaluate(names) == sorted(unsorted, key=str.lower)
        await tab.click("table th button")
        assert await tab.evaluate(names) == sorted(unsorted, key=str.lower, reverse=True)
        quiet(tab, file)


async def test_a_folded_section_opens_by_its_link(tmp_path: Path, address: str) -> None:
    file = written("every-chart", tmp_path)
    async with connected(address) as chromium_:
        tab = await chromium_.tab()
        await tab.view(1280, 900)
        await tab.open(file.as_uri())
        assert await tab.evaluate("document.querySelector('details').open") is False
        await tab.click("nav li:last-child a")
        assert await tab.evaluate("document.querySelector('details').open") is True
        quiet(tab, file)


async def test_a_long_table_is_filtered_and_grows(tmp_path: Path, address: str) -> None:
    file = tmp_path / "table.html"
    file.write_text(_long_table(), "utf-8")
    async with connected(address) as chromium_:
        tab = await chromium_.tab()
        await tab.open(file.as_uri())
        rows = "document.querySelectorAll('tbody tr').length"
        assert await tab.evaluate(rows) == 100
        await tab.evaluate("[...document.querySelectorAll('button')].at(-1).click()")
        assert await tab.evaluate(rows) == 200
        await tab.evaluate(
            "(() => { const filter = document.querySelector('input'); filter.value = 'ROW 24';"
            " filter.dispatchEvent(new Event('input')); })()"
        )
        assert await tab.evaluate(rows) == 11
        counted = "document.querySelector('.tools [aria-live]').textContent"
        assert await tab.evaluate(counted) == "11 of 250 rows"
        quiet(tab, file)


def _long_table() -> str:
    from kpolicy.offline.pages.data_table import Column, DataTable
    from kpolicy.offline.pages.page_frame import Page, Section

    rows = [(f"row {at}", at) for at in range(250)]
    table = DataTable("Rows", [Column("name"), Column("number", "number")], rows)
    return Page("Table", [Section("Rows", [table])]).html()


async def test_each_chart_is_saved_as_a_picture(tmp_path: Path, address: str) -> None:
    file = written("every-chart", tmp_path)
    saved = tmp_path / "saved"
    saved.mkdir()
    async with connected(address) as chromium_:
        await chromium_.save_downloads(saved)
        tab = await opened(chromium_, file)
        charts = await tab.evaluate("document.querySelectorAll('.chart').length")
        assert charts == 6
        for at in range(5):
            for kind in ("png", "svg"):
                await tab.evaluate(f"document.querySelectorAll('[data-save={kind}]')[{at}].click()")
        pictures = await _files(saved, 10)
        assert [url for url in tab.asked if not url.startswith("blob:")] == [file.as_uri()]
        assert tab.complaints == []
    for picture in pictures:
        content = picture.read_bytes()
        if picture.suffix == ".png":
            assert content.startswith(b"\x89PNG")
        else:
            # A name that was not escaped would be an element here, or no XML at all.
            tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(content).iter()}
            assert "svg" in tags
            assert not tags & {"script", "img", "foreignObject"}


async def _files(folder: Path, count: int) -> list[Path]:
    async with asyncio.timeout(_DOWNLOAD_SECONDS_MAX):
        while True:
            found = _pictures(folder)
            if len(found) == count:
                return found
            await asyncio.sleep(0.05)


def _pictures(folder: Path) -> list[Path]:
    """Those that are complete: Chromium gives a file its name at the end."""
    return [each for each in folder.iterdir() if each.suffix in (".png", ".svg")]


async def test_hostile_names_are_shown_as_they_are(tmp_path: Path, address: str) -> None:
    file = written("every-chart", tmp_path)
    async with connected(address) as chromium_:
        tab = await opened(chromium_, file)
        assert await tab.evaluate("document.title") == HOSTILE.rstrip("\x01")
        assert await tab.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert await tab.evaluate("document.images.length") == 0
        assert await tab.evaluate("document.scripts.length") == 3
        series = "JSON.parse(document.getElementById('data').textContent).charts['chart-0']"
        assert await tab.evaluate(f"{series}.option.series[0].name") == HOSTILE
        quiet(tab, file)


async def test_a_script_that_is_not_the_page_s_own_does_not_run(
    tmp_path: Path, address: str
) -> None:
    """The policy of the page holds, and what it refuses is among the complaints."""
    file = written("explain", tmp_path)
    text = file.read_text("utf-8")
    attack = "<script>globalThis.attacked = 1</script><img src='https://example.invalid/x.png'>"
    file.write_text(text.replace("</main>", f"{attack}</main>"), "utf-8")
    async with connected(address) as chromium_:
        tab = await opened(chromium_, file)
        assert await tab.evaluate("globalThis.attacked") is None
        assert len(tab.complaints) == 2, tab.complaints


async def test_a_large_cluster_is_all_there_and_small(tmp_path: Path, address: str) -> None:
    file = tmp_path / "large.html"
    file.write_text(of_explain(large()), "utf-8")
    assert file.stat().st_size < 1_500_000
    async with connected(address) as chromium_:
        tab = await opened(chromium_, file)
        leaves = await tab.evaluate(
            "JSON.parse(document.getElementById('data').textContent).charts['chart-0']"
            ".option.series[0].data.flatMap((zone) => zone.children)"
            ".flatMap((rack) => rack.children).length"
        )
        assert leaves == LARGE
        assert min(await tab.evaluate(_DRAWN)) > 3
        quiet(tab, file)
