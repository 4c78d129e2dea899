/** What stands around the trials: progress, the way out of the study, and whether the answers are saved. */
import { isTemporary, type SessionTrial } from "./api";
import { html } from "./dom";
import type { SaveStatus } from "./outbox";
import { TEXTS_LANGUAGE, texts } from "./texts";

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
  private shownStatus: SaveStatus = "saved";

  constructor(main: HTMLElement, leaveDialog: HTMLDialogElement) {
    const leave = html("button", { id: "leave-study", type: "button", class: "quiet" }, texts.leave);
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

  /** Shows and announces which trial comes; called before its fixation, so that nothing of it falls into the timing. */
  showTrial(trial: SessionTrial, trials: SessionTrial[]): void {
    const practice = trial.phase === "practice";
    const alike = trials.filter((other) => (other.phase === "practice") === practice);
    const words = (practice ? texts.practiceOf : texts.questionOf)(alike.indexOf(trial) + 1, alike.length);
    this.show(words);
    this.progress.max = trials.length;
    this.progress.value = trial.trial_index;
    this.announcer.textContent = words;
  }

  showSaveStatus(status: SaveStatus): void {
    if (status === "saving" && this.shownStatus !== "saved") return; // still offline until something gets through
    clearTimeout(this.statusTimer);
    if (status === "offline") this.sayStatus("offline", texts.offline);
    else if (status === "saving") this.statusTimer = window.setTimeout(() => this.sayStatus("saving", texts.saving), QUIET_SAVE_MS);
    else if (this.shownStatus === "saved") this.sayStatus("saved", "");
    else {
      this.sayStatus("saved", texts.saved);
      this.statusTimer = window.setTimeout(() => this.sayStatus("saved", ""), SAVED_SHOWN_MS);
    }
  }

  private sayStatus(status: SaveStatus, words: string): void {
    this.shownStatus = status;
    if (this.saveStatus.textContent !== words) this.saveStatus.textContent = words;
  }
}

/** Asks whether to leave and delete the answers; `withdraw` does it and may fail. */
export function createLeaveDialog(withdraw: () => Promise<void>): HTMLDialogElement {
  const problem = html("p", { role: "alert", class: "problem" });
  const stay = html("button", { type: "button", class: "primary" }, texts.leaveStay);
  const confirm = html("button", { id: "leave-confirm", type: "button", class: "danger" }, texts.leaveConfirm);
  const dialog = html(
    "dialog",
    { id: "leave-dialog", "aria-labelledby": "leave-title", lang: TEXTS_LANGUAGE },
    html("h2", { id: "leave-title" }, texts.leaveTitle),
    html("p", {}, texts.leaveExplained),
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
      problem.textContent = isTemporary(error) ? texts.leaveFailed : (error as Error).message;
    }
    confirm.disabled = false;
  });
  // The browser gives the focus back to the button that opened the dialog; the trial's keys need it on the trial.
  dialog.addEventListener("close", () => document.getElementById("stimulus")?.focus({ preventScroll: true }));
  return dialog;
}
