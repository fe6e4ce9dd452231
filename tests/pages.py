"""What the tests of HTML pages share: checks of pictures, and scripts for a browser."""

import base64
import hashlib
import re

# --- scripts: each returns a list of faults -------------------------------------------

CONTRASTS = """() => {
  const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (e) => {
    for (; e; e = e.parentElement) {
      const colour = channels(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length || e.tagName === 'SCRIPT') continue;
    const style = getComputedStyle(e);
    const ink = channels(e.ownerSVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(background(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push([e.outerHTML.slice(0, 80), ratio]);
  }
  return low;
}"""

SCROLLED = """() => [...document.querySelectorAll('body, body *')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
  .filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowX))
  .map((e) => e.outerHTML.slice(0, 80))"""

CUT_OFF = """() => [...document.querySelectorAll('svg text')]
  .filter((e) => e.getClientRects().length)
  .filter((e) => {
    const text = e.getBoundingClientRect();
    const picture = e.ownerSVGElement.getBoundingClientRect();
    return text.left < picture.left - 1 || text.right > picture.right + 1
      || text.top < picture.top - 4 || text.bottom > picture.bottom + 4
      || picture.right > innerWidth;
  })
  .map((e) => e.textContent)"""

SMALL_LETTERS = """() => [...document.querySelectorAll('svg text')]
  .filter((e) => e.getClientRects().length)
  .map((e) => [e.textContent, parseFloat(getComputedStyle(e).fontSize)
    * e.ownerSVGElement.getBoundingClientRect().width
    / e.ownerSVGElement.viewBox.baseVal.width])
  .concat([...document.querySelectorAll('body *')]
    .filter((e) => !e.ownerSVGElement && e.getClientRects().length)
    .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .map((e) => [e.textContent, parseFloat(getComputedStyle(e).fontSize)]))
  .filter(([_, size]) => size < 11)"""

FAULTS = """() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  if (all('h1').length !== 1) faults.push('not one h1');
  if (all('main').length !== 1) faults.push('not one main');
  let level = 1;
  for (const h of all('h1, h2, h3, h4')) {
    if (Number(h.tagName[1]) > level + 1) faults.push('skips: ' + h.textContent);
    level = Number(h.tagName[1]);
  }
  const ids = all('[id]').map((e) => e.id);
  if (new Set(ids).size < ids.length) faults.push('an id occurs twice');
  for (const e of all('[aria-labelledby]'))
    if (!document.getElementById(e.getAttribute('aria-labelledby')))
      faults.push('no label: ' + e.getAttribute('aria-labelledby'));
  for (const a of all('a'))
    if (!document.getElementById(a.hash.slice(1))) faults.push('leads nowhere: ' + a);
  for (const b of all('th button, summary, a, legend, th'))
    if (!b.textContent.trim()) faults.push('no name: ' + b.outerHTML);
  for (const s of all('svg'))
    if (s.getAttribute('role') !== 'img' || !s.getAttribute('aria-label'))
      faults.push('picture without words');
  for (const t of all('thead th'))
    if (t.scope !== 'col') faults.push('header without scope');
  return faults;
}"""


def unfold(page):
    for part in page.locator("summary").all():
        if part.is_visible():
            part.click()


def assert_readable(page, width):
    """Check that an opened page fits its window, and that its texts can be read."""
    unfold(page)
    wide, inner = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert wide <= inner == width
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(SMALL_LETTERS) == []


def assert_policy_allows_only_what_is_inside(page):
    """Check that the policy of a page names its style and script, and nothing else."""
    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)">', page)
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy


def assert_of_the_page(picture):
    """Check that a picture has no ids and styles, and only colours of the page."""
    assert not re.search(r"\b(id|style|href|clip-path)=", picture)
    colours = set(re.findall(r'(?:fill|stroke)="(.*?)"', picture))
    assert colours <= {
        "none",
        *(f"var(--{each})" for each in ("ink", "paper", "soft", "line")),
        *(f"var(--{each})" for each in ("mve", "amm", "mam")),
    }
