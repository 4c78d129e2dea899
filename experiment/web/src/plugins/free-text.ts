import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { html } from "../pages/dom";
import { say } from "../pages/texts";
import type { TrialParameters } from "../run-trial";
import type { FreeTextContent } from "../saving/server-api";
import { shared, TypedAnswer } from "./typed-answer";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "free-text",
  version: "1.0.0",
  parameters: {
    ...questionParameters,
    /** Largest number of characters of the answer. */
    most_characters: { type: ParameterType.INT, default: 2000 },
    /** Height of the field, in lines. With one line, the Enter key submits. */
    lines: { type: ParameterType.INT, default: 3 },
    ...trialParameters,
  },
  data: {
    /** The text as it was typed. */
    response: { type: ParameterType.STRING },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & FreeTextContent & TrialParameters;

/** A question with a text as its answer. */
export default class FreeTextPlugin extends TrialPlugin<string, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    const { lines, most_characters } = trial;
    const attributes = { ...shared, dir: "auto", maxlength: most_characters };
    const input = lines === 1 ? html("input", { ...attributes, type: "text" }) : html("textarea", { ...attributes, rows: lines });
    const read = (text: string) => (text.trim() === "" ? null : text);
    const hint = say("free_text_help", { number: most_characters });
    return new TypedAnswer(trial, keyboard, { task: "free-text", input, field: input, read, hint, problem: say("free_text_empty"), submitsOnEnter: lines === 1 });
  }

  protected randomResponse({ most_characters }: Trial) {
    const words = this.jsPsych.randomization.randomWords({ exactly: 5, join: " " }) as unknown as string;
    return words.slice(0, most_characters);
  }

  protected giveResponse(response: string, rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    api.fillTextInput(document.querySelector<HTMLInputElement>("#typed-answer")!, response, (reading_ms + rt_ms) / 2);
    api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
  }
}
