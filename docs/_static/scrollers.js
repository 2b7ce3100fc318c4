// What scrolls sideways can be reached by Tab, so that arrow keys scroll it (WCAG 2.1.1).
{
  const boxes = document.querySelectorAll(
    "article :is(pre, .table-wrapper, .math-scroll, .output):not([tabindex])",
  );
  const mark = () => {
    for (const box of boxes)
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
  };
  mark();
  addEventListener("resize", mark);
  document.fonts.ready.then(mark);
}
