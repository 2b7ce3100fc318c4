// The language switch keeps the place in the page and the search, and remembers the choice.
for (const link of document.querySelectorAll(".languages a")) {
  const follow = () => {
    link.search = location.search;
    link.hash = location.hash;
    try {
      localStorage.setItem("guide-language", link.hreflang);
    } catch {
      // Storage may be refused; the link works all the same.
    }
  };
  link.addEventListener("click", follow);
  link.addEventListener("auxclick", follow); // the middle button opens a tab
}
