import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { picture, type StimulusParts, together } from "../assets/stimulus-parts";
import type { ResponseWindow } from "../timing/response-window";
import type { ImagePart, MultipleChoiceContent } from "../saving/server-api";
import { html } from "../pages/dom";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { usesTouch } from "../timing/input-hints";
import { digitOf, keyNameOf, typedKeyOf } from "../timing/response-keys";
import type { TimeBounds } from "../timing/time-hints";
import { keyLabel } from "./key-label";
import { questionElement, submitButton } from "./question-element";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "multiple-choice",
  version: "1.2.0",
  parameters: {
    ...questionParameters,
    /** The options, 2 to 9: texts, or pictures with the fields of a picture in `stimulus`. */
    options: { type: ParameterType.COMPLEX, array: true, default: undefined },
    /** {at_least, at_most}: how many options are chosen before the response is submitted. If it is null, the first choice is
     * the response.
     */
    several: { type: ParameterType.OBJECT, default: null },
    /** The key of each option: a small letter, a digit, "space", "left", "right", "up" or "down". If it is empty, the keys
     * are the digits from 1. Not used with `several`.
     */
    option_keys: { type: ParameterType.STRING, array: true, default: [] },
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

  protected giveResponse(response: Choice, rt_ms: number, { reading_ms, option_keys }: Trial) {
    const api = this.jsPsych.pluginAPI;
    if (typeof response === "number") {
      const key = option_keys?.[response - 1];
      return api.pressKey(key ? typedKeyOf(key) : String(response), rt_ms);
    }
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
    this.options = options.map((option, index) => {
      const key = content.option_keys?.[index];
      return optionButton(index + 1, key ? keyLabel(key) : String(index + 1), pictures[index]?.element ?? wordsOf(option));
    });
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
        const option = this.optionOf(event);
        if (option !== null) respond(event, option);
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

  /** Returns the number of the option whose key was pressed; null for any other key. */
  private optionOf(event: KeyboardEvent): number | null {
    const keys = this.content.option_keys ?? [];
    if (keys.length === 0) return digitOf(event);
    const key = keyNameOf(event);
    if (key === null || !keys.includes(key) || event.ctrlKey || event.altKey || event.metaKey) return null;
    event.preventDefault(); // the space key and the arrow keys would scroll the page or press a button
    return keys.indexOf(key) + 1;
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

function optionButton(number: number, key: string, shown: HTMLElement): HTMLButtonElement {
  const attributes = { type: "button", class: "option", "data-option": number } as const;
  return html("button", attributes, html("span", { class: "option-number" }, key), shown);
}

function wordsOf(option: string | ImagePart): HTMLElement {
  return html("span", { class: "option-text" }, option as string);
}

function mark(button: HTMLButtonElement, name: "right" | "wrong", words: string): void {
  button.classList.add(name);
  button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, words));
}

function helpOn({ several, option_keys }: MultipleChoiceContent): string {
  const touch = usesTouch();
  if (!several) {
    const help = option_keys?.length ? "option_keys_help" : "multiple_choice_help";
    return say(touch ? "multiple_choice_help_touch" : help);
  }
  const { at_least, at_most } = several;
  return at_least === at_most
    ? say(touch ? "choose_exactly_touch" : "choose_exactly", { number: at_least })
    : say(touch ? "choose_several_touch" : "choose_several", { at_least, at_most });
}
