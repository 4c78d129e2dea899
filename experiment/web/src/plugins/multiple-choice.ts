import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { ResponseWindow } from "../timing/response-window";
import type { MultipleChoiceContent, TrialData } from "../saving/server-api";
import { html } from "../pages/dom";
import { type GivenResponse, runTrial, type SimulatedParticipant, simulatedData, type Stimulus, type TrialParameters } from "../run-trial";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { usesTouch } from "../timing/input-hints";
import { digitOf } from "../timing/response-keys";
import { type TimeBounds, timeHints } from "../timing/time-hints";
import { trialData, trialParameters } from "./shared-info";

const info = {
  name: "multiple-choice",
  version: "1.0.0",
  parameters: {
    /** The text above the question. Blank lines separate paragraphs. May be empty. */
    text: { type: ParameterType.STRING, default: "" },
    /** The question. */
    prompt: { type: ParameterType.STRING, default: undefined },
    /** The options, 2 to 9. */
    options: { type: ParameterType.STRING, array: true, default: undefined },
    ...trialParameters,
  },
  data: {
    /** The number of the chosen option, counted from 1. */
    response: { type: ParameterType.INT },
    ...trialData,
  },
} as const;

type Info = typeof info;
/** jsPsych fills in the defaults before it calls the plugin. The type `TrialType` does not include the defaults. */
type Trial = TrialType<Info> & MultipleChoiceContent & TrialParameters;

/** A text, a question and numbered options. A number key, a click or a tap gives the response at once. */
export default class MultipleChoicePlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<TrialData<number>> {
    return this.run(display, trial, on_load);
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<TrialData<number>> },
    on_load: () => void = () => {},
  ): Promise<TrialData<number>> {
    const api = this.jsPsych.pluginAPI;
    const data: TrialData<number> = api.mergeSimulationData(
      simulatedData(this.jsPsych, trial, this.jsPsych.randomization.randomInt(1, trial.options.length)),
      simulation_options,
    );
    if (simulation_mode === "data-only") {
      on_load();
      await trial.on_response(data);
      return data;
    }
    return this.run(this.jsPsych.getDisplayElement(), trial, on_load, {
      respond: () => {
        if (data.rt_ms !== null) api.pressKey(String(data.response), data.rt_ms);
      },
      continue: (button) => api.clickTarget(button, data.rt_ms ?? trial.reading_ms),
    });
  }

  private run(display: HTMLElement, trial: Trial, on_load: () => void, simulated?: SimulatedParticipant) {
    const build = () => new MultipleChoiceStimulus(trial, this.jsPsych.getDisplayContainerElement());
    return runTrial(display, build, trial, on_load, simulated);
  }
}

export class MultipleChoiceStimulus implements Stimulus<number> {
  readonly element: HTMLElement;
  readonly controls: HTMLButtonElement[];
  private chosen: number | null = null;

  constructor(
    content: MultipleChoiceContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.controls = content.options.map((option, index) =>
      html(
        "button",
        { type: "button", class: "option", "data-option": index + 1 },
        html("span", { class: "option-number" }, String(index + 1)),
        html("span", { class: "option-text" }, option),
      ),
    );
    const paragraphs = content.text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== "");
    const hints = timeHints(content);
    this.element = html(
      "div",
      {
        id: "stimulus",
        class: "multiple-choice",
        translate: "no",
        role: "group",
        tabindex: -1,
        "aria-labelledby": "text prompt",
        "aria-describedby": hints[0]?.id ?? false,
      },
      html("div", { id: "text" }, ...paragraphs.map((paragraph) => html("p", {}, paragraph))),
      html("h1", { id: "prompt" }, content.prompt),
      ...hints,
      html("ol", { class: "options" }, ...this.controls.map((button) => html("li", {}, button))),
      html("p", { class: "hint", lang: TEXTS_LANGUAGE }, say(usesTouch() ? "multiple_choice_help_touch" : "multiple_choice_help")),
    );
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<number>> {
    return new Promise((resolve) => {
      const respond = (event: Event, option: number) => {
        if (!this.controls[option - 1] || !responseWindow.takes(event)) return;
        this.chosen = option;
        resolve({ response: option, event });
      };
      const onKey = (event: KeyboardEvent) => {
        const digit = digitOf(event);
        if (digit !== null) respond(event, digit);
      };
      this.keyboard.addEventListener("keydown", onKey, { signal: responseWindow.closed });
      this.controls.forEach((button, index) => button.addEventListener("click", (event) => respond(event, index + 1)));
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of this.controls) button.disabled = true;
  }

  showResponse(response: number): void {
    this.chosen = response;
  }

  showSolution(solution: unknown): void {
    const right = solution as number;
    this.mark(right, "right", `✓ ${say("right_answer")}`);
    if (this.chosen !== null && this.chosen !== right) this.mark(this.chosen, "wrong", `✗ ${say("your_answer")}`);
  }

  private mark(option: number, name: "right" | "wrong", words: string): void {
    const button = this.controls[option - 1]!;
    button.classList.add(name);
    button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, words));
  }
}
