/** Pages outside the jsPsych timeline: the waiting message, notices and problems. `pages/end-pages.ts` has the end pages. */
import { html, nameByHeading } from "./dom";
import { illustration } from "./illustrations";
import { embeddedHtml } from "./server-html";
import { say, TEXTS_LANGUAGE } from "./texts";

export function showWaiting(container: HTMLElement, message: string): void {
  container.replaceChildren(html("p", { class: "waiting", role: "status", lang: TEXTS_LANGUAGE }, message));
}

/** Shows the server's sentence on why a participant cannot take part or continue. Below the sentence is the contact. */
export function showNotice(container: HTMLElement, title: string, notice: string, contact_html: string | null): void {
  const page = html(
    "section", // an article may not be an alert
    { id: "notice", class: "page", role: "alert", tabindex: -1 },
    illustration("unplugged"),
    html("h1", {}, title),
    html("p", { class: "lead", lang: TEXTS_LANGUAGE }, notice),
    html("div", { class: "buttons", lang: TEXTS_LANGUAGE }, reloadButton("secondary")),
    ...contact(contact_html),
  );
  replaceAndFocus(container, page);
}

/** Shows that the session was opened in another window or browser. */
export function showElsewhere(container: HTMLElement, reason: string, unsent: number): void {
  showProblem(container, say("elsewhere_title"), [reason, ...(unsent > 0 ? [say("elsewhere_kept")] : [])]);
}

/** Shows the message of an error that the client cannot resolve, and a button to reload the page. */
export function showError(container: HTMLElement, message: string, contact_html: string | null): void {
  showProblem(container, say("error_title"), [message], contact_html);
}

/** Shows that the server refused a response, and that the earlier responses are stored. */
export function showNotSaved(container: HTMLElement, reason: string, contact_html: string | null): void {
  showProblem(container, say("not_saved_title"), [reason, say("not_saved")], contact_html);
}

function showProblem(container: HTMLElement, title: string, paragraphs: string[], contact_html: string | null = null): void {
  const page = html(
    "section",
    { class: "page", role: "alert", tabindex: -1 },
    illustration("unplugged"),
    html(
      "div",
      { lang: TEXTS_LANGUAGE },
      html("h1", {}, title),
      ...paragraphs.map((paragraph) => html("p", { class: "lead" }, paragraph)),
      html("div", { class: "buttons" }, reloadButton("primary")),
    ),
    ...contact(contact_html),
  );
  replaceAndFocus(container, page);
}

function reloadButton(kind: "primary" | "secondary"): HTMLButtonElement {
  const button = html("button", { type: "button", class: kind }, say("reload"));
  button.addEventListener("click", () => location.reload());
  return button;
}

/** Returns the contact and the participant's rights, below the words of a page. */
export function contact(contact_html: string | null): HTMLElement[] {
  return contact_html === null ? [] : [embeddedHtml(contact_html)];
}

export function replaceAndFocus(container: HTMLElement, page: HTMLElement): void {
  nameByHeading(page);
  container.replaceChildren(page);
  window.scrollTo(0, 0);
  page.focus({ preventScroll: true });
}
