import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { picture, type StimulusParts, together } from "../assets/stimulus-parts";
import type { ResponseWindow } from "../timing/response-window";
import type { ImagePart, MultipleChoiceContent } from "../saving/server-api";
import { html } from "../pages/dom";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { usesTouch } from "../timing/input-hints";
import { digitOf } from "../timing/response-keys";
import type { TimeBounds } from "../timing/time-hints";
import { questionElement, submitButton } from "./question-element";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "multiple-choice",
  version: "1.1.0",
  parameters: {
    ...questionParameters,
    /** The options, 2 to 9: texts, or pictures with the fields of a picture in `stimulus`. */
    options: { type: ParameterType.COMPLEX, array: true, default: undefined },
    /** {at_least, at_most}: how many options are chosen before the response is submitted. If it is null, the first choice is
     * the response.
     */
    several: { type: ParameterType.OBJECT, default: null },
    ...trialParameters,
  },
  data: {
    /** The number of the chosen option, counted from 1. With `several`, the numbers in ascending order. */
    response: { type: ParameterType.INT },
    ...trialData,
  },
} as const;

type Info = typeof info;
/** jsPsych fills in the defaults before it calls the plugin. The type `TrialType` does not include the defaults. */
type Trial = TrialType<Info> & MultipleChoiceContent & TrialParameters;
type Choice = number | number[];

/** A question with numbered options. A number key, a click or a tap gives the response at once; with `several`, it chooses an
 * option, and a button submits the response.
 */
export default class MultipleChoicePlugin extends TrialPlugin<Choice, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return new MultipleChoiceStimulus(trial, keyboard);
  }

  protected randomResponse({ options, several }: Trial): Choice {
    const { randomInt, sampleWithoutReplacement } = this.jsPsych.randomization;
    if (!several) return randomInt(1, options.length);
    const numbers = options.map((_, index) => index + 1);
    return sampleWithoutReplacement(numbers, randomInt(several.at_least, several.at_most)).sort((one, other) => one - other);
  }

  protected giveResponse(response: Choice, rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    if (typeof response === "number") return api.pressKey(String(response), rt_ms);
    for (const option of response) api.pressKey(String(option), (reading_ms + rt_ms) / 2);
    api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
  }
}

class MultipleChoiceStimulus implements Stimulus<Choice> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: HTMLButtonElement[];
  private options: HTMLButtonElement[];
  private submit = submitButton();
  private chosen = new Set<number>();

  constructor(
    private content: MultipleChoiceContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    const { options, several } = content;
    const pictures = options.map((option) => (typeof option === "string" ? null : picture(option)));
    this.options = options.map((option, index) => optionButton(index + 1, pictures[index]?.element ?? wordsOf(option)));
    if (several) this.options.forEach((button) => button.setAttribute("aria-pressed", "false"));
    this.controls = several ? [...this.options, this.submit] : this.options;
    const list = html("ol", { class: "options" }, ...this.options.map((button) => html("li", {}, button)));
    if (pictures.some((one) => one !== null)) list.classList.add("pictures");
    const { element, media } = questionElement(content, "multiple-choice", helpOn(content), list, ...(several ? [this.submit] : []));
    this.element = element;
    this.media = together(media, ...pictures.filter((one) => one !== null));
    this.offerSubmit();
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<Choice>> {
    return new Promise((resolve) => {
      const respond = (event: Event, option: number) => {
        if (!this.options[option - 1] || !responseWindow.takes(event)) return;
        if (this.content.several) return this.toggle(option);
        this.chosen.add(option);
        resolve({ response: option, event });
      };
      const submit = (event: Event) => {
        if (this.isComplete() && responseWindow.takes(event)) resolve({ response: this.chosenInOrder(), event });
      };
      const onKey = (event: KeyboardEvent) => {
        const digit = digitOf(event);
        if (digit !== null) respond(event, digit);
        // Enter on a button presses this button.
        else if (event.key === "Enter" && this.content.several && !(event.target as Element).closest("button")) submit(event);
      };
      this.keyboard.addEventListener("keydown", onKey, { signal: responseWindow.closed });
      this.options.forEach((button, index) => button.addEventListener("click", (event) => respond(event, index + 1)));
      this.submit.addEventListener("click", submit);
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of this.controls) button.disabled = true;
  }

  showResponse(response: Choice): void {
    this.chosen = new Set([response].flat());
  }

  showSolution(solution: unknown): void {
    const right = new Set([solution as Choice].flat());
    this.options.forEach((button, index) => {
      const [isRight, isChosen] = [right.has(index + 1), this.chosen.has(index + 1)];
      if (isRight) mark(button, "right", `✓ ${say("right_answer")}`);
      else if (isChosen) mark(button, "wrong", `✗ ${say("your_answer")}`);
    });
  }

  private toggle(option: number): void {
    if (!this.chosen.delete(option)) this.chosen.add(option);
    this.options[option - 1]!.setAttribute("aria-pressed", String(this.chosen.has(option)));
    this.offerSubmit();
  }

  private offerSubmit(): void {
    this.submit.disabled = !this.isComplete();
  }

  private isComplete(): boolean {
    const { several } = this.content;
    return !!several && this.chosen.size >= several.at_least && this.chosen.size <= several.at_most;
  }

  private chosenInOrder(): number[] {
    return [...this.chosen].sort((one, other) => one - other);
  }
}

function optionButton(number: number, shown: HTMLElement): HTMLButtonElement {
  const attributes = { type: "button", class: "option", "data-option": number } as const;
  return html("button", attributes, html("span", { class: "option-number" }, String(number)), shown);
}

function wordsOf(option: string | ImagePart): HTMLElement {
  return html("span", { class: "option-text" }, option as string);
}

function mark(button: HTMLButtonElement, name: "right" | "wrong", words: string): void {
  button.classList.add(name);
  button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, words));
}

function helpOn({ several }: MultipleChoiceContent): string {
  const touch = usesTouch();
  if (!several) return say(touch ? "multiple_choice_help_touch" : "multiple_choice_help");
  const { at_least, at_most } = several;
  return at_least === at_most
    ? say(touch ? "choose_exactly_touch" : "choose_exactly", { number: at_least })
    : say(touch ? "choose_several_touch" : "choose_several", { at_least, at_most });
}
