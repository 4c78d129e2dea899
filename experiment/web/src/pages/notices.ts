/** Pages outside the jsPsych timeline: the waiting message, notices and problems. `pages/end-pages.ts` has the end pages. */
import { html } from "./dom";
import { embeddedHtml } from "./server-html";
import { say, TEXTS_LANGUAGE } from "./texts";

export function showWaiting(container: HTMLElement, message: string): void {
  container.replaceChildren(html("p", { class: "waiting", role: "status", lang: TEXTS_LANGUAGE }, message));
}

/** Shows the server's sentence on why a participant cannot take part or continue. Below the sentence is the contact. */
export function showNotice(container: HTMLElement, title: string, notice: string, contact_html: string | null): void {
  const page = html(
    "article",
    { id: "notice", class: "page", role: "alert", tabindex: -1 },
    html("h1", {}, title),
    html("p", { lang: TEXTS_LANGUAGE }, notice),
    ...(contact_html === null ? [] : [embeddedHtml(contact_html)]),
  );
  replaceAndFocus(container, page);
}

/** Shows that the session was opened in another window or browser. */
export function showElsewhere(container: HTMLElement, reason: string, unsent: number): void {
  showProblem(container, say("elsewhere_title"), reason, ...(unsent > 0 ? [say("elsewhere_kept")] : []));
}

/** Shows the message of an error that the client cannot resolve, and a button to reload the page. */
export function showError(container: HTMLElement, message: string): void {
  showProblem(container, say("error_title"), message);
}

/** Shows that the server refused a response, and that the earlier responses are stored. */
export function showNotSaved(container: HTMLElement, reason: string): void {
  showProblem(container, say("not_saved_title"), reason, say("not_saved"));
}

function showProblem(container: HTMLElement, title: string, ...paragraphs: string[]): void {
  const page = html(
    "article",
    { class: "page", role: "alert", tabindex: -1, lang: TEXTS_LANGUAGE },
    html("h1", {}, title),
    ...paragraphs.map((paragraph) => html("p", {}, paragraph)),
    html("div", { class: "buttons" }, reloadButton()),
  );
  replaceAndFocus(container, page);
}

function reloadButton(): HTMLButtonElement {
  const button = html("button", { type: "button", class: "primary" }, say("reload"));
  button.addEventListener("click", () => location.reload());
  return button;
}

export function replaceAndFocus(container: HTMLElement, page: HTMLElement): void {
  container.replaceChildren(page);
  window.scrollTo(0, 0);
  page.focus({ preventScroll: true });
}
