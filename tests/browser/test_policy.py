"""The pages' Content-Security-Policy: it refuses other hosts, and what the site does itself works."""

from __future__ import annotations

import pytest

REFUSED = """address => new Promise((done) => {
  const refused = [];
  document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  const picture = new Image();
  picture.src = `${address}/x.png`;
  document.body.append(picture);
  fetch(address).catch(() => setTimeout(() => done(refused.sort()), 200));
})"""


@pytest.mark.parametrize("name", ["en/tensors/views.html", "zh-cn/search.html"])
def test_a_browser_would_refuse_another_host(page, address, name):
    page.goto(f"{address}/{name}", wait_until="domcontentloaded")
    other = "http://localhost:9"  # another host than 127.0.0.1; nobody listens there
    assert page.evaluate(REFUSED, other) == ["connect-src", "img-src"]


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_the_decoder_answers_under_the_policy(page, address, folder):
    page.goto(f"{address}/{folder}/troubleshooting/decoder.html")
    page.locator(".decoder-text").fill("CUDA error: device-side assert triggered")
    page.locator(".decoder-answer").first.wait_for()


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_the_search_answers_under_the_policy(page, address, folder):
    page.goto(f"{address}/{folder}/search.html?q=autograd")
    page.locator("#search-results ul.search > li > a").first.wait_for()


def test_a_copy_on_a_disk_works_under_the_policy(page, site):
    page.goto(f"{(site / 'zh-cn' / 'search.html').as_uri()}?q=视图")
    page.locator("#search-results ul.search > li > a").first.wait_for()
