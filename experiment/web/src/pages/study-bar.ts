/** The bar around the trials: progress, contact, the button to leave the study, and the state of saving. */
import { isTemporary } from "../saving/server-api";
import type { TrialPosition } from "../session-progress";
import { html, svg } from "./dom";
import { createRulesDialog, openRules } from "./rules-dialog";
import { embeddedHtml } from "./server-html";
import type { SaveStatus } from "../saving/outbox";
import { say, TEXTS_LANGUAGE } from "./texts";

/** The bar shows the state of saving only after this time. */
const QUIET_SAVE_MS = 1_500;
const SAVED_SHOWN_MS = 4_000;
const STILL_BEING_READ_MS = 1_000;

export class StudyBar {
  private label = html("label", { id: "position", for: "progress" });
  private progress = html("progress", { id: "progress" });
  private announcer = html("p", { class: "visually-hidden", role: "status", lang: TEXTS_LANGUAGE });
  private saveStatus = html("p", { id: "save-status", role: "status", lang: TEXTS_LANGUAGE });
  private tooLarge = html("p", { id: "too-large", class: "problem", role: "alert", lang: TEXTS_LANGUAGE });
  private rules: HTMLDialogElement | null = null;
  private rulesButton = html("button", { id: "show-rules", type: "button", class: "quiet", hidden: true }, say("rules"));
  private minutesLeft = html("span", { id: "minutes-left" });
  private position: HTMLElement;
  private studyName: HTMLElement;
  private buttons: HTMLElement;
  private menuButton: HTMLButtonElement;
  private leave: HTMLElement;
  private contact: HTMLElement | null = null;
  private header: HTMLElement;
  private announced_ms = -Infinity;
  private statusTimer = 0;
  private status: SaveStatus = "saved";

  constructor(
    private main: HTMLElement,
    leaveDialog: HTMLDialogElement,
  ) {
    this.leave = this.opener("leave-study", say("leave"), leaveDialog);
    this.buttons = html("div", { id: "study-menu", class: "study-bar-buttons", lang: TEXTS_LANGUAGE, hidden: true });
    this.menuButton = this.createMenuButton();
    this.position = html("div", { class: "study-bar-progress", lang: TEXTS_LANGUAGE }, this.label, this.progress, this.minutesLeft);
    this.header = document.querySelector<HTMLElement>("header.study-bar")!; // the server writes it, with the study's name
    this.studyName = this.header.querySelector<HTMLElement>(".study-name")!;
    this.header.querySelector(".study-bar-line")!.append(this.position, this.menuButton, this.buttons);
    main.after(html("footer", {}, this.saveStatus, this.tooLarge, this.announcer), leaveDialog);
    this.showName();
  }

  /** Adds the button to leave the study. Without a session there is nothing to leave. */
  offerLeaving(): void {
    this.buttons.append(this.leave);
    this.showMenu();
  }

  /** Shows the study's name and logo, without the menu: before and after a session. */
  end(): void {
    this.showName();
    this.buttons.replaceChildren();
    this.showMenu();
  }

  /** Adds the button that opens the contact and the participant's rights. The dialog that asks whether to leave also
   * shows the contact and the rights.
   */
  offerContact(contact_html: string): void {
    const dialog = createContactDialog();
    this.contact = embeddedHtml(contact_html);
    this.contact.lang = document.documentElement.lang;
    this.buttons.prepend(this.opener("show-contact", say("contact"), dialog));
    this.main.after(dialog);
    this.showMenu();
  }

  /** Adds the button that opens the rules, from the first trial on. It is beside the menu, not in it, because participants
   * need the rules during a trial.
   */
  offerRules(pages: string[]): void {
    if (this.rules || pages.length === 0) return;
    const dialog = (this.rules = createRulesDialog(pages));
    dialog.addEventListener("close", giveFocusToTrial);
    this.rulesButton.addEventListener("click", () => openRules(dialog));
    this.menuButton.before(this.rulesButton);
    this.main.after(dialog);
  }

  /** Closes the rules if they are open when the trial ends. Otherwise they would cover the next trial. */
  closeRules(): void {
    this.rules?.close();
  }

  /** Shows and announces the next trial. Call this method during the fixation, so that it does not affect the timing.
   * `minutesLeft` says how much time the rest takes; it is empty if that is unknown.
   */
  showTrial({ words, answered, total }: TrialPosition, minutesLeft = ""): void {
    this.studyName.hidden = true; // a logo would distract from the questions
    this.rulesButton.hidden = false;
    this.position.hidden = false;
    this.label.textContent = words;
    this.minutesLeft.textContent = minutesLeft;
    this.progress.max = total;
    this.progress.value = answered;
    const justSaid = performance.now() - this.announced_ms < STILL_BEING_READ_MS ? `${this.announcer.textContent} ` : "";
    this.announcer.textContent = justSaid + words;
  }

  /** Announces a text to screen readers. The announcement of the next trial must not interrupt this text. */
  announce(words: string): void {
    this.announcer.textContent = words;
    this.announced_ms = performance.now();
  }

  showSaveStatus(status: SaveStatus): void {
    // A new attempt to send is not shown, because no response has arrived yet.
    if (status === this.status || (status === "saving" && this.status !== "saved")) return;
    clearTimeout(this.statusTimer);
    const worried = this.status !== "saved" && this.saveStatus.textContent !== "";
    this.status = status;
    if (status === "saved") {
      this.say(worried ? say("saved") : "");
      this.statusTimer = window.setTimeout(() => this.say(""), SAVED_SHOWN_MS);
    } else if (worried || status === "offline") this.say(say(status));
    else this.statusTimer = window.setTimeout(() => this.say(say(status)), QUIET_SAVE_MS);
  }

  /** Shows that a response was too large to be saved, until the page is left. */
  showTooLarge(): void {
    this.tooLarge.textContent = say("answer_too_large");
  }

  /** Stops showing the state of saving, because the page itself shows the state. */
  hideSaveStatus(): void {
    clearTimeout(this.statusTimer);
    this.status = "saved";
    this.say("");
  }

  /** Makes the button that opens and closes the menu. Only a narrow window has a menu; otherwise its buttons are visible. */
  private createMenuButton(): HTMLButtonElement {
    const lines = svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: "M3,5h14M3,10h14M3,15h14" }));
    const attributes = { lang: TEXTS_LANGUAGE, "aria-label": say("menu"), "aria-expanded": "false", "aria-controls": this.buttons.id };
    const button = html("button", { id: "open-menu", type: "button", class: "quiet menu-button", hidden: true, ...attributes }, lines);
    button.addEventListener("click", () => this.openMenu(button.getAttribute("aria-expanded") === "false"));
    this.buttons.addEventListener("click", () => this.openMenu(false));
    document.addEventListener("pointerdown", ({ target }) => this.header.contains(target as Node) || this.openMenu(false));
    document.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape" || button.getAttribute("aria-expanded") === "false") return;
      this.openMenu(false);
      button.focus();
    });
    return button;
  }

  private showName(): void {
    this.studyName.hidden = false;
    this.position.hidden = true;
  }

  /** Shows the button of the menu if the menu has buttons. */
  private showMenu(): void {
    this.menuButton.hidden = this.buttons.hidden = this.buttons.childElementCount === 0;
  }

  private openMenu(open: boolean): void {
    this.menuButton.setAttribute("aria-expanded", String(open));
  }

  /** Makes a button that opens a dialog. The contact is moved into the open dialog. */
  private opener(id: string, label: string, dialog: HTMLDialogElement): HTMLButtonElement {
    const button = html("button", { id, type: "button", class: "quiet" }, label);
    button.addEventListener("click", () => {
      if (this.contact) dialog.querySelector(".contact")!.append(this.contact);
      dialog.showModal();
    });
    dialog.addEventListener("close", () => this.contact?.remove());
    return button;
  }

  private say(words: string): void {
    if (this.saveStatus.textContent !== words) this.saveStatus.textContent = words;
  }
}

/** Focuses the trial, or the button below its feedback, after a dialog closes. Otherwise the browser would focus the button that opened the dialog, and the
 * trial would receive no keys.
 */
function giveFocusToTrial(): void {
  const control = document.getElementById("feedback-continue") ?? document.getElementById("stimulus");
  control?.focus({ preventScroll: true });
}

function createContactDialog(): HTMLDialogElement {
  const close = html("button", { type: "button", class: "primary" }, say("close"));
  close.addEventListener("click", () => dialog.close());
  const dialog = html(
    "dialog",
    { id: "contact-dialog", "aria-label": say("contact"), lang: TEXTS_LANGUAGE },
    html("div", { class: "contact", tabindex: -1, autofocus: true }), // otherwise the browser scrolls to the button below
    html("div", { class: "buttons" }, close),
  );
  dialog.addEventListener("close", giveFocusToTrial);
  return dialog;
}

/** Makes the dialog that asks whether to leave and delete the responses. `withdraw` deletes the responses, and may fail. */
export function createLeaveDialog(withdraw: () => Promise<void>): HTMLDialogElement {
  const problem = html("p", { role: "alert", class: "problem" });
  const stay = html("button", { type: "button", class: "primary" }, say("leave_stay"));
  const confirm = html("button", { id: "leave-confirm", type: "button", class: "danger" }, say("leave_confirm"));
  const dialog = html(
    "dialog",
    { id: "leave-dialog", "aria-labelledby": "leave-title", lang: TEXTS_LANGUAGE },
    html("h2", { id: "leave-title" }, say("leave_title")),
    html("p", {}, say("leave_explained")),
    problem,
    html("div", { class: "buttons" }, stay, confirm),
    html("div", { class: "contact" }),
  );
  stay.addEventListener("click", () => dialog.close());
  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    problem.textContent = "";
    try {
      await withdraw();
      dialog.close();
    } catch (error) {
      problem.textContent = isTemporary(error) ? say("leave_failed") : (error as Error).message;
    }
    confirm.disabled = false;
  });
  dialog.addEventListener("close", giveFocusToTrial);
  return dialog;
}
