/** Helpers for building elements. Text is always inserted as text, never as HTML. */

type Attributes = Record<string, string | number | boolean>;

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
}

export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Names a page by its first heading, so that screen readers read the heading when the page gets the focus. */
export function nameByHeading(page: HTMLElement): void {
  const heading = page.querySelector("h1, h2");
  if (!heading) return;
  heading.id ||= "page-title";
  page.setAttribute("aria-labelledby", heading.id);
}

/** Makes a block from the server's sanitised Markdown, the only HTML that the client parses. Links open in a new tab, so
 * that the participant stays in the study.
 */
export function serverHtml(markup: string): HTMLElement {
  const block = html("div", { class: "server-html" });
  block.innerHTML = markup;
  block.querySelectorAll<HTMLAnchorElement>("a[href^=http]").forEach((link) => (link.target = "_blank"));
  return block;
}

/** Makes the same block for use below a heading of the page. The headings in the block are one level lower. */
export function embeddedHtml(markup: string): HTMLElement {
  const block = serverHtml(markup);
  for (const tag of ["h5", "h4", "h3", "h2", "h1"]) {
    const lower = `h${Number(tag[1]) + 1}` as "h2";
    block.querySelectorAll(tag).forEach((heading) => heading.replaceWith(html(lower, {}, ...heading.childNodes)));
  }
  return block;
}
