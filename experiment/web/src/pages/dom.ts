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
