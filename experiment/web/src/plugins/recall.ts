import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import type { RecallContent } from "../saving/server-api";
import type { StimulusParts } from "../assets/stimulus-parts";
import { usesTouch } from "../timing/input-hints";
import type { ResponseWindow } from "../timing/response-window";
import type { TimeBounds } from "../timing/time-hints";
import { questionElement, rightAnswer, submitButton } from "./question-element";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";
import { shared } from "./typed-answer";

const info = {
  name: "recall",
  version: "1.0.0",
  parameters: {
    ...questionParameters,
    /** Largest number of entries. */
    most_entries: { type: ParameterType.INT, default: 30 },
    ...trialParameters,
  },
  data: {
    /** The entries as they were typed, in their order. */
    response: { type: ParameterType.STRING, array: true },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & RecallContent & TrialParameters;

/** Largest number of characters of one entry. */
const MOST_CHARACTERS = 200;

/** A list that the participant types from memory, one entry after another. */
export default class RecallPlugin extends TrialPlugin<string[], Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return new RecallStimulus(trial, keyboard);
  }

  protected randomResponse({ most_entries }: Trial) {
    return this.jsPsych.randomization.randomWords({ exactly: Math.min(3, most_entries) });
  }

  protected giveResponse(response: string[], rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    const input = document.querySelector<HTMLInputElement>("#typed-answer")!;
    const each_ms = (rt_ms - reading_ms) / (response.length + 1);
    response.forEach((entry, index) => {
      const at_ms = reading_ms + (index + 0.5) * each_ms;
      setTimeout(() => (input.value = entry), at_ms);
      api.clickTarget(document.querySelector("#add-entry")!, at_ms);
    });
    api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
  }
}

class RecallStimulus implements Stimulus<string[]> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: Element[];
  private entries: string[] = [];
  private input = html("input", {
    ...shared,
    type: "text",
    dir: "auto",
    maxlength: MOST_CHARACTERS,
    autocorrect: "off",
    enterkeyhint: "enter",
  });
  private add = html("button", { id: "add-entry", class: "secondary", type: "button", lang: TEXTS_LANGUAGE }, say("recall_add"));
  private list = html("ol", { class: "recall-entries", "aria-label": say("recall_entries"), lang: TEXTS_LANGUAGE });
  private spoken = html("p", { class: "visually-hidden", role: "status", lang: TEXTS_LANGUAGE });
  private problem = html("p", { id: "typed-problem", class: "problem", role: "alert", lang: TEXTS_LANGUAGE });
  private submit = submitButton();
  private onRemove: (event: MouseEvent, row: HTMLElement) => void = () => {};

  constructor(
    private content: RecallContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.submit.disabled = false; // a click without an entry asks whether there is none
    this.list.hidden = true;
    this.controls = [this.input, this.add, this.submit];
    const field = html("div", { class: "recall-field" }, this.input, this.add);
    ({ element: this.element, media: this.media } = questionElement(
      content,
      "recall",
      say(usesTouch() ? "recall_help_touch" : "recall_help"),
      field,
      this.problem,
      this.list,
      this.spoken,
      this.submit,
    ));
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<string[]>> {
    const signal = responseWindow.closed;
    let asksWhetherEmpty = false;
    return new Promise((resolve) => {
      const takeTyped = (): boolean => {
        const isTaken = this.addEntries([this.input.value]);
        if (isTaken) this.input.value = "";
        return isTaken;
      };
      const addTyped = (event: Event) => {
        if (!responseWindow.takes(event)) return;
        takeTyped();
        this.input.focus();
      };
      const onKey = (event: KeyboardEvent) => {
        // While a word is being composed, as in Japanese, Enter ends the word.
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();
        addTyped(event);
      };
      const onPaste = (event: ClipboardEvent) => {
        const lines = (event.clipboardData?.getData("text") ?? "").split(/[\r\n]+/);
        if (lines.length < 2) return; // the field takes one line
        event.preventDefault();
        if (!responseWindow.takes(event)) return;
        const before = this.input.value;
        if (this.addEntries([before + lines[0]!, ...lines.slice(1)])) this.input.value = "";
      };
      const onInput = () => {
        asksWhetherEmpty = false;
        this.problem.textContent = "";
      };
      // The participant can type at once: the first character brings the focus into the field.
      const onFirstCharacter = (event: KeyboardEvent) => {
        if (event.key.length === 1 && !(event.target as Element).closest("input, button")) this.input.focus();
      };
      const onSubmit = (event: MouseEvent) => {
        if (event.detail > 1 || !responseWindow.takes(event) || !takeTyped()) return; // a double click asks, and does not answer
        if (this.entries.length > 0 || asksWhetherEmpty) return resolve({ response: this.entries, event });
        asksWhetherEmpty = true;
        this.problem.textContent = say("recall_empty");
      };
      this.onRemove = (event, row) => {
        // The second click of a double click would remove the entry that moved to this position.
        if (event.detail <= 1 && responseWindow.takes(event)) this.removeEntry(row);
      };
      this.keyboard.addEventListener("keydown", onFirstCharacter, { signal });
      this.input.addEventListener("keydown", onKey, { signal });
      this.input.addEventListener("paste", onPaste, { signal });
      this.input.addEventListener("input", onInput, { signal });
      this.add.addEventListener("click", addTyped, { signal });
      this.submit.addEventListener("click", onSubmit, { signal });
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const control of this.element.querySelectorAll<HTMLInputElement | HTMLButtonElement>("input, button")) control.disabled = true;
  }

  showResponse(response: string[]): void {
    this.addEntries(response);
  }

  showSolution(solution: unknown): void {
    const entries = (solution as string[]).join(" · ");
    this.list.after(rightAnswer(entries));
  }

  /** Adds entries to the list, without empty ones. Adds none, and says so, if there are too many. */
  private addEntries(texts: string[]): boolean {
    const entries = texts.map((text) => text.trim().slice(0, MOST_CHARACTERS)).filter((text) => text !== "");
    const { most_entries } = this.content;
    const fits = this.entries.length + entries.length <= most_entries;
    this.problem.textContent = fits ? "" : say("recall_full", { number: most_entries });
    if (!fits || entries.length === 0) return fits;
    this.entries = [...this.entries, ...entries];
    this.list.append(...entries.map((entry) => this.row(entry)));
    this.list.hidden = false;
    this.spoken.textContent = say("recall_added", { entry: entries.join(", "), n: this.entries.length });
    return true;
  }

  private row(entry: string): HTMLElement {
    const remove = html("button", { class: "recall-remove", type: "button", "aria-label": say("recall_remove_entry", { entry }) }, say("recall_remove"));
    const row = html("li", {}, html("bdi", { class: "recall-entry", translate: "no" }, entry), remove);
    remove.addEventListener("click", (event) => this.onRemove(event, row));
    return row;
  }

  private removeEntry(row: HTMLElement): void {
    const index = [...this.list.children].indexOf(row);
    const [entry] = this.entries.slice(index, index + 1);
    this.entries = this.entries.filter((_, other) => other !== index);
    row.remove();
    this.list.hidden = this.entries.length === 0;
    this.problem.textContent = "";
    this.spoken.textContent = say("recall_removed", { entry: entry!, n: this.entries.length });
    // On a touch screen, the focus in the field would open the keyboard.
    const next = this.list.children[Math.min(index, this.entries.length - 1)]?.querySelector("button");
    (next ?? this.input).focus();
  }
}
