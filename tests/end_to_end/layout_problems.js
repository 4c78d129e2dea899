// Returns what is wrong with the layout of the page: parts that overlap, are cut off, or make the page too wide.
() => {
  const problems = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`${scrollWidth} px wide in ${clientWidth} px`);

  const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility({ visibilityProperty: true }));
  const box = (one) => one.getBoundingClientRect();
  const start = (one) => one.outerHTML.slice(0, 80);
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const findOverlaps = (parts) =>
    parts.forEach((a, at) =>
      parts.slice(at + 1).forEach((b) => {
        if (!a.contains(b) && !b.contains(a) && !apart(box(a), box(b))) problems.push(`${start(a)} overlaps ${start(b)}`);
      }),
    );

  findOverlaps(seen("header label, header button, header #minutes-left, header .study-name"));
  // A panel that stays at the lower edge of the window covers the text that scrolls below it.
  const sticks = (one) => getComputedStyle(one).position === "sticky" || one.closest(".response-panel");
  findOverlaps(seen("main :is(button, .button)").filter((one) => !sticks(one)));

  const header = box(document.querySelector("header"));
  if (!apart(header, box(document.querySelector("main")))) problems.push("the header overlaps the content");
  if (header.height > 0.2 * innerHeight + 8) problems.push(`the header has ${header.height} px of ${innerHeight} px`);

  for (const one of seen("main :is(h1, h2, p, button, a, label, input, textarea, code, output)")) {
    const { left, right, width } = box(one);
    const isMeant = width <= 1 || one.closest("pre, table");
    if (!isMeant && (left < -1 || right > clientWidth + 1)) problems.push(`cut off: ${start(one)}`);
  }
  return problems;
}
