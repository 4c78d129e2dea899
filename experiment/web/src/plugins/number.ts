import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { TrialParameters } from "../run-trial";
import type { NumberContent } from "../saving/server-api";
import { typedNumber } from "../typed-number";
import { shared, TypedAnswer } from "./typed-answer";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "number",
  version: "1.0.0",
  parameters: {
    ...questionParameters,
    /** The lowest and the highest number that is accepted. */
    low: { type: ParameterType.FLOAT, default: undefined },
    high: { type: ParameterType.FLOAT, default: undefined },
    /** Largest number of decimals. */
    decimals: { type: ParameterType.INT, default: 0 },
    /** The unit that is shown after the number, such as "km". */
    unit: { type: ParameterType.STRING, default: "" },
    ...trialParameters,
  },
  data: {
    /** The number. */
    response: { type: ParameterType.FLOAT },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & NumberContent & TrialParameters;

/** A question with a number as its answer. */
export default class NumberPlugin extends TrialPlugin<number, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    const { low, high, decimals, unit } = trial;
    const values = { low: inWords(low), high: inWords(high), decimals };
    const sentence = decimals > 0 ? say("number_help_decimals", values) : say("number_help", values);
    // The number keyboard of a phone has no minus sign.
    const input = html("input", { ...shared, type: "text", inputmode: low < 0 ? "text" : decimals > 0 ? "decimal" : "numeric" });
    const field = html("p", { class: "number-field" }, input, ...(unit ? [html("span", { class: "unit" }, unit)] : []));
    const read = (text: string) => {
      const number = typedNumber(text);
      const fits = number !== null && number.decimals <= decimals && number.value >= low && number.value <= high;
      return fits ? number.value : null;
    };
    return new TypedAnswer(trial, keyboard, { task: "number", input, field, read, hint: sentence, problem: sentence, submitsOnEnter: true });
  }

  protected randomResponse({ low, high, decimals }: Trial) {
    const steps = Math.round((high - low) * 10 ** decimals);
    return Number((low + this.jsPsych.randomization.randomInt(0, steps) / 10 ** decimals).toFixed(decimals));
  }

  protected giveResponse(response: number, rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    api.fillTextInput(document.querySelector<HTMLInputElement>("#typed-answer")!, String(response), (reading_ms + rt_ms) / 2);
    api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
  }
}

/** Returns a number as people read it, with European digits, which every keyboard has. */
function inWords(number: number): string {
  return number.toLocaleString(TEXTS_LANGUAGE, { numberingSystem: "latn", useGrouping: false, maximumFractionDigits: 12 });
}
