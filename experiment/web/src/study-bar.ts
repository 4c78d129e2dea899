/** What stands around the trials: progress, the way out of the study, and whether the answers are saved. */
import { isTemporary, type SessionTrial } from "./api";
import { html } from "./dom";
import type { SaveStatus } from "./outbox";
import { say, TEXTS_LANGUAGE } from "./texts";

/** A save that is quicker than this is not worth a word. */
const QUIET_SAVE_MS = 1_500;
const SAVED_SHOWN_MS = 4_000;

export class StudyBar {
  private label = html("label", { for: "progress" });
  private progress = html("progress", { id: "progress" });
  private announcer = html("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  private saveStatus = html("p", { id: "save-status", role: "status", lang: TEXTS_LANGUAGE });
  private header: HTMLElement;
  private statusTimer = 0;
  private status: SaveStatus = "saved";

  constructor(main: HTMLElement, leaveDialog: HTMLDialogElement) {
    const leave = html("button", { id: "leave-study", type: "button", class: "quiet" }, say("leave"));
    leave.addEventListener("click", () => leaveDialog.showModal());
    this.header = html(
      "header",
      { class: "study-bar", lang: TEXTS_LANGUAGE, hidden: true },
      html("div", { class: "study-bar-progress" }, this.label, this.progress),
      leave,
    );
    main.before(this.header);
    main.after(html("footer", {}, this.saveStatus), this.announcer, leaveDialog);
  }

  show(words = ""): void {
    this.header.hidden = false;
    this.label.textContent = words;
    this.progress.hidden = words === "";
  }

  hide(): void {
    this.header.hidden = true;
  }

  /** Shows and announces which trial comes; called during its fixation, so that nothing of it falls into the timing. */
  showTrial(trial: SessionTrial, trials: SessionTrial[]): void {
    const practice = trial.phase === "practice";
    const alike = trials.filter((other) => (other.phase === "practice") === practice);
    const place = { number: alike.indexOf(trial) + 1, total: alike.length };
    const words = practice ? say(alike.length > 1 ? "practice_of" : "practice", place) : say("question_of", place);
    this.show(words);
    this.progress.max = trials.length;
    this.progress.value = trial.trial_index;
    this.announcer.textContent = words;
  }

  showSaveStatus(status: SaveStatus): void {
    // A further attempt is no news: nothing has got through yet.
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

  /** Says nothing about saving any more: what is to be said is on the page. */
  hideSaveStatus(): void {
    clearTimeout(this.statusTimer);
    this.status = "saved";
    this.say("");
  }

  private say(words: string): void {
    if (this.saveStatus.textContent !== words) this.saveStatus.textContent = words;
  }
}

/** Asks whether to leave and delete the answers; `withdraw` does it and may fail. */
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
  // The browser gives the focus back to the button that opened the dialog; the trial's keys need it on the trial.
  dialog.addEventListener("close", () => document.getElementById("stimulus")?.focus({ preventScroll: true }));
  return dialog;
}
