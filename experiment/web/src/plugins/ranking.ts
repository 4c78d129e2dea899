import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { StimulusParts } from "../assets/stimulus-parts";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import type { RankingContent } from "../saving/server-api";
import { usesTouch } from "../timing/input-hints";
import { digitOf } from "../timing/response-keys";
import type { ResponseWindow } from "../timing/response-window";
import type { TimeBounds } from "../timing/time-hints";
import { questionElement, submitButton } from "./question-element";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "ranking",
  version: "1.0.0",
  parameters: {
    ...questionParameters,
    /** The options, 2 to 9. */
    options: { type: ParameterType.STRING, array: true, default: undefined },
    ...trialParameters,
  },
  data: {
    /** The numbers of the options, counted from 1, from first to last. */
    response: { type: ParameterType.INT, array: true },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & RankingContent & TrialParameters;

/** Options that are put in order: the participant chooses the first one, then the second one, and so on. */
export default class RankingPlugin extends TrialPlugin<number[], Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return new RankingStimulus(trial, keyboard);
  }

  protected randomResponse({ options }: Trial) {
    return this.jsPsych.randomization.shuffle(options.map((_, index) => index + 1));
  }

  protected giveResponse(response: number[], rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    for (const option of response) api.pressKey(String(option), (reading_ms + rt_ms) / 2);
    api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
  }
}

class RankingStimulus implements Stimulus<number[]> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: HTMLButtonElement[];
  private options: HTMLButtonElement[];
  private submit = submitButton();
  private order: number[] = [];

  constructor(
    content: RankingContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.options = content.options.map((option, index) =>
      html(
        "button",
        { type: "button", class: "option", "data-option": index + 1, "aria-pressed": "false" },
        html("span", { class: "option-number" }, String(index + 1)),
        html("span", { class: "option-text" }, option),
        html("span", { class: "option-rank", lang: TEXTS_LANGUAGE }),
      ),
    );
    this.controls = [...this.options, this.submit];
    const list = html("ol", { class: "options" }, ...this.options.map((button) => html("li", {}, button)));
    ({ element: this.element, media: this.media } = questionElement(content, "ranking", say(usesTouch() ? "ranking_help_touch" : "ranking_help"), list, this.submit));
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<number[]>> {
    return new Promise((resolve) => {
      const choose = (event: Event, option: number) => {
        if (this.options[option - 1] && responseWindow.takes(event)) this.choose(option);
      };
      const submit = (event: Event) => {
        if (this.order.length === this.options.length && responseWindow.takes(event)) resolve({ response: this.order, event });
      };
      const onKey = (event: KeyboardEvent) => {
        const digit = digitOf(event);
        if (digit !== null) choose(event, digit);
        // Enter on a button presses this button.
        else if (event.key === "Enter" && !(event.target as Element).closest("button")) submit(event);
      };
      this.keyboard.addEventListener("keydown", onKey, { signal: responseWindow.closed });
      this.options.forEach((button, index) => button.addEventListener("click", (event) => choose(event, index + 1)));
      this.submit.addEventListener("click", submit);
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of this.controls) button.disabled = true;
  }

  showResponse(response: number[]): void {
    response.forEach((option) => this.choose(option));
  }

  showSolution(solution: unknown): void {
    (solution as number[]).forEach((option, index) => {
      const button = this.options[option - 1]!;
      const isRight = this.order[index] === option;
      button.classList.add(isRight ? "right" : "wrong");
      button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, `${isRight ? "✓" : "✗"} ${say("right_answer")}: ${index + 1}`));
    });
  }

  /** Puts an option at the end of the order. An option that is in the order is taken out, with all options after it. */
  private choose(option: number): void {
    const place = this.order.indexOf(option);
    if (place >= 0) this.order = this.order.slice(0, place);
    else this.order = [...this.order, option];
    this.options.forEach((button, index) => {
      const rank = this.order.indexOf(index + 1) + 1;
      button.setAttribute("aria-pressed", String(rank > 0));
      button.querySelector(".option-rank")!.textContent = rank > 0 ? say("ranking_place", { place: rank }) : "";
    });
    this.submit.disabled = this.order.length < this.options.length;
  }
}
