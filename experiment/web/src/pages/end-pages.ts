/** The end pages of a session. An end page can have a link back to the panel, and codes to copy. */
import type { Completion, Ended, Exit } from "../saving/server-api";
import { html } from "./dom";
import { embeddedHtml } from "./server-html";
import { replaceAndFocus } from "./notices";
import { say, sayAround, TEXTS_LANGUAGE, type TextName } from "./texts";

export function showDeclined(container: HTMLElement, exit: Exit): void {
  showEnd(container, "declined", [title("declined_title"), paragraph("declined")], exit);
}

export function showWithdrawn(container: HTMLElement): void {
  showEnd(container, "withdrawn", [title("withdrawn_title"), paragraph("withdrawn")]);
}

/** Shows the unmet requirements of the device, one sentence each. Nothing was stored. */
export function showIncompatible(container: HTMLElement, lacks: string[], exit: Exit, ...buttons: HTMLElement[]): void {
  const words = [...lacks, say("device_nothing_stored")].map((sentence) => html("p", {}, sentence));
  showEnd(container, "incompatible", [title("device_title"), ...words, ...buttonRow(...buttons)], exit);
}

/** Shows that this phone cannot continue a session that the participant began on another device. */
export function showWrongDevice(container: HTMLElement): void {
  showEnd(container, "incompatible", [title("device_title"), paragraph("device_phone")]);
}

export function showEnded(container: HTMLElement, { message, exit, withdrawal_code, contact_html }: Ended): void {
  const below = [...contact(contact_html), ...changeOfMind(withdrawal_code)];
  showEnd(container, "ended", [title("ended_title"), html("p", {}, message)], exit, ...below);
}

/** Shows the end page of a completed session. `tooLarge` is the number of responses that were too large to be saved. */
export function showCompletion(container: HTMLElement, completion: Completion, tooLarge = 0): void {
  const { completion_code, withdrawal_code, exit, debrief_html, contact_html } = completion;
  const code = codeToTake("completion-code", "completion_code", completion_code);
  const page = html(
    "article",
    { id: "completed", class: "page", tabindex: -1 },
    html("div", { lang: TEXTS_LANGUAGE }, title("completed_title"), paragraph(tooLarge > 0 ? "completed_except_large" : "completed"), ...code.elements),
    ...wayOut(exit),
    ...(debrief_html ? [embeddedHtml(debrief_html)] : []),
    ...contact(contact_html),
    ...changeOfMind(withdrawal_code),
  );
  replaceAndFocus(container, page);
  code.announce();
}

function showEnd(container: HTMLElement, id: string, words: HTMLElement[], exit?: Exit, ...below: HTMLElement[]): void {
  const code = exit?.code ? codeToTake("exit-code", "exit_code", exit.code) : null;
  const page = html(
    "article",
    { id, class: "page", tabindex: -1 },
    html("div", { lang: TEXTS_LANGUAGE }, ...words, ...(code?.elements ?? [])),
    ...wayOut(exit),
    ...below,
  );
  replaceAndFocus(container, page);
  code?.announce();
}

function title(name: TextName): HTMLElement {
  return html("h1", {}, say(name));
}

function paragraph(name: TextName): HTMLElement {
  return html("p", {}, say(name));
}

function buttonRow(...buttons: HTMLElement[]): HTMLElement[] {
  return buttons.length > 0 ? [html("div", { class: "buttons" }, ...buttons)] : [];
}

function contact(contact_html: string | null): HTMLElement[] {
  return contact_html === null ? [] : [embeddedHtml(contact_html)];
}

/** Explains how the participant can delete the responses after the end of the session. */
function changeOfMind(withdrawal_code: string | null): HTMLElement[] {
  if (withdrawal_code === null) return [];
  const code = html("code", { id: "withdrawal-code", dir: "ltr", translate: "no" }, withdrawal_code);
  const section = html(
    "section",
    { lang: TEXTS_LANGUAGE },
    html("h2", {}, say("change_mind_title")),
    html("p", {}, ...sayAround("change_mind", "code", code)),
    html("p", {}, html("a", { id: "withdraw-link", href: "/withdraw" }, say("change_mind_link"))),
  );
  return [section];
}

/** Makes the link back to the panel. The link follows the code, because without this step the participant is not paid. */
function wayOut(exit?: Exit): HTMLElement[] {
  if (!exit?.url) return [];
  const link = html("a", { id: "exit-link", class: "button primary", href: exit.url, lang: TEXTS_LANGUAGE }, say("exit_link"));
  return buttonRow(link);
}

/** Makes a code with a button that copies it. `announce` writes the code once the page shows the element, so that screen
 * readers read the code aloud.
 */
function codeToTake(id: string, label: TextName, code: string): { elements: HTMLElement[]; announce: () => void } {
  const output = html("output", { id, class: "code", dir: "ltr", translate: "no", tabindex: -1 });
  const copied = html("span", { role: "status" });
  const copy = html("button", { id: "copy-code", type: "button", class: "secondary" }, say("copy_code"));
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code);
      copied.textContent = say("code_copied");
    } catch {
      // Over plain HTTP there is no clipboard, or the browser refused access to the clipboard. Leave the code selected.
      window.getSelection()?.selectAllChildren(output);
      copied.textContent = say("code_not_copied");
    }
  });
  return {
    elements: [html("p", { class: "code-label" }, say(label)), html("div", { class: "code-row" }, output, copy, copied)],
    announce: () => (output.textContent = code),
  };
}
