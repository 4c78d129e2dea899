/** The HTML that the server makes from the study's Markdown. */
import { html } from "./dom";
import { makeStepwise } from "./blackbox-diagram";

/** Makes a block from the server's sanitised Markdown, the only HTML that the client parses. Links open in a new tab, so
 * that the participant stays in the study.
 */
export function serverHtml(markup: string): HTMLElement {
  const block = html("div", { class: "server-html" });
  block.innerHTML = markup;
  block.querySelectorAll<HTMLAnchorElement>("a[href^=http]").forEach((link) => (link.target = "_blank"));
  block.querySelectorAll<HTMLElement>(".blackbox-diagram").forEach(makeStepwise);
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
