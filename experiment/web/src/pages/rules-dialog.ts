/** The rules: pages of the study that participants can read again during a trial. */
import { html } from "./dom";
import { embeddedHtml } from "./server-html";
import { say, TEXTS_LANGUAGE } from "./texts";

/** Events of the document. The signals of the trial record them. */
export const RULES_OPENED = "equipoise-rules-opened";
export const RULES_CLOSED = "equipoise-rules-closed";

export function createRulesDialog(pages: string[]): HTMLDialogElement {
  const close = html("button", { id: "close-rules", type: "button", class: "primary" }, say("close"));
  close.addEventListener("click", () => dialog.close());
  const text = html("div", { class: "rules-text", tabindex: -1, autofocus: true }, ...pages.map(embeddedHtml));
  text.lang = document.documentElement.lang;
  const buttons = html("div", { class: "buttons" }, close);
  const dialog = html("dialog", { id: "rules-dialog", "aria-label": say("rules"), lang: TEXTS_LANGUAGE }, text, buttons);
  dialog.addEventListener("close", () => document.dispatchEvent(new Event(RULES_CLOSED)));
  return dialog;
}

export function openRules(dialog: HTMLDialogElement): void {
  document.dispatchEvent(new Event(RULES_OPENED));
  dialog.showModal();
  dialog.scrollTop = 0;
}
