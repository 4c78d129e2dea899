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

  for (const button of seen(":is(#contact-dialog, #rules-dialog)[open] .buttons button")) {
    const { top, bottom } = box(button.closest("dialog"));
    if (box(button).top < top || box(button).bottom > Math.min(bottom, innerHeight)) problems.push(`out of sight: ${start(button)}`);
  }
  for (const button of seen("#leave-dialog[open] .primary")) {
    const dialog = button.closest("dialog");
    const hasShadow = getComputedStyle(dialog).backgroundAttachment.includes("local");
    if (box(button).bottom > box(dialog).bottom && !hasShadow) problems.push(`out of sight without a sign: ${start(button)}`);
  }
  for (const words of seen(".rating-point > .rating-words")) {
    const isRow = getComputedStyle(words.parentElement).flexDirection === "row";
    const isOneWord = !/\s/.test(words.textContent);
    if (isRow && !isOneWord && box(words).top >= box(words.previousElementSibling).bottom) problems.push(`below its number: ${start(words)}`);
  }
  const letters = (one) => parseFloat(getComputedStyle(one).fontSize);
  for (const code of seen(".code")) {
    if (letters(code) < letters(document.documentElement)) problems.push(`smaller than the text: ${start(code)}`);
  }
  const isNearBorder = (inner, outer, space) => inner.left < outer.left + space || inner.right > outer.right - space;
  for (const entry of seen(".recall-entry")) {
    if (isNearBorder(box(entry), box(entry.parentElement), 4)) problems.push(`at the border: ${start(entry)}`);
  }
  for (const key of seen(".option-number")) {
    const words = document.createRange();
    words.selectNodeContents(key);
    if (isNearBorder(box(words), box(key), 3)) problems.push(`at the border: ${start(key)}`);
  }
  for (const button of seen(".study-bar-line .quiet:not(.menu-button)")) {
    if (box(button).top < header.top + 2) problems.push(`at the edge of the window: ${start(button)}`);
  }
  for (const last of seen(".feedback, #screen-continue")) {
    const below = document.documentElement.scrollHeight - scrollY - box(last).bottom;
    if (below < 8) problems.push(`at the end of the page: ${start(last)}`);
  }
  return problems;
}
