/** The end pages of a session. An end page says what happens next: a link back to the panel, and codes to copy or print. */
import type { Completion, Ended, Exit } from "../saving/server-api";
import { html } from "./dom";
import { type Illustration, illustration } from "./illustrations";
import { contact, replaceAndFocus } from "./notices";
import { embeddedHtml } from "./server-html";
import { say, sayAround, TEXTS_LANGUAGE, type TextName } from "./texts";

export function showDeclined(container: HTMLElement, exit: Exit, contact_html: string | null): void {
  const again = html("button", { id: "declined-again", type: "button", class: "secondary" }, say("declined_again"));
  again.addEventListener("click", () => location.reload()); // nothing was stored, so the study begins again
  showEnd(container, {
    id: "declined",
    drawing: "goodbye",
    words: [title("declined_title"), paragraph("declined")],
    exit,
    buttons: [again],
    below: contact(contact_html),
  });
}

export function showWithdrawn(container: HTMLElement, contact_html: string | null): void {
  const words = [title("withdrawn_title"), paragraph("withdrawn")];
  showEnd(container, { id: "withdrawn", drawing: "goodbye", words, below: contact(contact_html) });
}

/** Shows the unmet requirements of the device, one sentence each. Nothing was stored. */
export function showIncompatible(container: HTMLElement, lacks: string[], exit: Exit, ...buttons: HTMLElement[]): void {
  const words = [title("device_title"), ...lacks.map((sentence) => html("p", {}, sentence)), paragraph("device_nothing_stored")];
  showEnd(container, { id: "incompatible", drawing: "device", words, exit, buttons });
}

/** Shows that this phone cannot continue a session that the participant began on another device. */
export function showWrongDevice(container: HTMLElement): void {
  const words = [title("device_title"), paragraph("device_phone"), paragraph("device_continue")];
  showEnd(container, { id: "incompatible", drawing: "device", words });
}

export function showEnded(container: HTMLElement, { message, exit, withdrawal_code, contact_html }: Ended): void {
  const words = [title("ended_title"), html("p", { class: "lead" }, message)];
  const below = [...contact(contact_html), ...changeOfMind(withdrawal_code)];
  showEnd(container, { id: "ended", drawing: "goodbye", words, exit, below });
}

/** Shows the end page of a completed session. `tooLarge` is the number of responses that were too large to be saved. */
export function showCompletion(container: HTMLElement, completion: Completion, tooLarge = 0): void {
  const { completion_code, withdrawal_code, exit, debrief_html, contact_html } = completion;
  const saved = html("p", { class: "lead" }, say(tooLarge > 0 ? "completed_except_large" : "completed"));
  showEnd(container, {
    id: "completed",
    drawing: "end",
    words: [title("completed_title"), saved],
    exit: { url: exit.url, code: completion_code },
    code: { id: "completion-code", label: "completion_code" },
    below: [
      ...(debrief_html ? [embeddedHtml(debrief_html)] : []),
      ...contact(contact_html),
      ...changeOfMind(withdrawal_code),
    ],
  });
}

interface End {
  id: string;
  drawing: Illustration;
  words: HTMLElement[];
  exit?: Exit;
  /** Id and label of the code for the panel. */
  code?: { id: string; label: TextName };
  buttons?: HTMLElement[];
  below?: HTMLElement[];
}

function showEnd(container: HTMLElement, { id, drawing, words, exit, code, buttons = [], below = [] }: End): void {
  const { id: codeId, label } = code ?? { id: "exit-code", label: "exit_code" as const };
  const taken = exit?.code ? codeToTake(codeId, exit.code) : null;
  const page = html(
    "article",
    { id, class: "page end", tabindex: -1 },
    illustration(drawing),
    html("div", { lang: TEXTS_LANGUAGE }, ...words),
    ...nextStep(exit, label, taken),
    ...(buttons.length > 0 ? [html("div", { class: "buttons", lang: TEXTS_LANGUAGE }, ...buttons)] : []),
    ...below,
  );
  replaceAndFocus(container, page);
  taken?.announce();
}

/** What the participant does next: the button back to the panel comes first, because without this step the participant is
 * not paid. The code is for panels that ask for it.
 */
function nextStep(exit: Exit | undefined, label: TextName, taken: CodeToTake | null): HTMLElement[] {
  if (!exit?.url && !taken) return [];
  const way = exit?.url
    ? [
        html("div", { class: "buttons" }, html("a", { id: "exit-link", class: "button primary", href: exit.url }, say("exit_link"))),
        paragraph("next_link"),
      ]
    : [];
  const code = taken ? [html("p", { class: "code-label" }, say(label)), taken.element] : [];
  return [html("section", { class: "next-step", lang: TEXTS_LANGUAGE, "aria-label": say("next_title") }, ...way, ...code)];
}

function title(name: TextName): HTMLElement {
  return html("h1", {}, say(name));
}

function paragraph(name: TextName): HTMLElement {
  return html("p", {}, say(name));
}

/** Explains how the participant can delete the responses after the end of the session. It is quieter than the way back to
 * the panel, so that nobody takes this code for the code of the panel.
 */
function changeOfMind(withdrawal_code: string | null): HTMLElement[] {
  if (withdrawal_code === null) return [];
  const code = html("code", { id: "withdrawal-code", dir: "ltr", translate: "no" }, withdrawal_code);
  const print = html("button", { id: "print-page", type: "button", class: "secondary quiet" }, say("print_page"));
  print.addEventListener("click", () => window.print());
  const link = { id: "withdraw-link", href: "/withdraw", "data-address": new URL("/withdraw", location.href).href };
  const section = html(
    "section",
    { class: "change-of-mind", lang: TEXTS_LANGUAGE },
    html("h2", {}, say("change_mind_title")),
    html("p", {}, ...sayAround("change_mind", "code", code)),
    html("p", {}, html("a", link, say("change_mind_link"))),
    html("div", { class: "code-row" }, ...copyButton(code), print),
  );
  return [section];
}

interface CodeToTake {
  element: HTMLElement;
  /** Writes the code once the page shows the element, so that screen readers read the code aloud. */
  announce: () => void;
}

/** Makes the code for the panel, with a button that copies it. */
function codeToTake(id: string, code: string): CodeToTake {
  const output = html("output", { id, class: "code", dir: "ltr", translate: "no", tabindex: -1 });
  return {
    element: html("div", { class: "code-row" }, output, ...copyButton(output)),
    announce: () => (output.textContent = code),
  };
}

/** Makes the button that copies a code, and the place for its result. */
function copyButton(shown: HTMLElement): HTMLElement[] {
  const copied = html("span", { role: "status" });
  const copy = html("button", { id: `copy-${shown.id}`, type: "button", class: "secondary quiet" }, say("copy_code"));
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(shown.textContent!);
      copied.textContent = say("code_copied");
    } catch {
      // Over plain HTTP there is no clipboard, or the browser refused access to the clipboard. Leave the code selected.
      window.getSelection()?.selectAllChildren(shown);
      copied.textContent = say("code_not_copied");
    }
  });
  return [copy, copied];
}
