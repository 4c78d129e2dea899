import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { TrialParameters } from "../run-trial";
import type { RatingContent } from "../saving/server-api";
import { giveRating, points, ratingScale } from "./rating-scale";
import { questionParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "rating",
  version: "1.0.0",
  parameters: {
    ...questionParameters,
    /** The lowest and the highest point of the scale, and the distance between points. */
    low: { type: ParameterType.FLOAT, default: 1 },
    high: { type: ParameterType.FLOAT, default: 7 },
    step: { type: ParameterType.FLOAT, default: 1 },
    /** Words for the two ends of the scale, or for every point. */
    labels: { type: ParameterType.STRING, array: true, default: [] },
    /** `buttons`: one button for each point. `slider`: a line, which has no mark before the participant sets one. */
    shown_as: { type: ParameterType.SELECT, options: ["buttons", "slider"], default: "buttons" },
    ...trialParameters,
  },
  data: {
    /** The chosen point of the scale. */
    response: { type: ParameterType.FLOAT },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & RatingContent & TrialParameters;

/** A rating on a scale, with a button for each point or with a slider. */
export default class RatingPlugin extends TrialPlugin<number, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return ratingScale(trial, keyboard);
  }

  protected randomResponse(trial: Trial) {
    return this.jsPsych.randomization.sampleWithoutReplacement(points(trial), 1)[0]!;
  }

  protected giveResponse(response: number, rt_ms: number, trial: Trial) {
    giveRating(this.jsPsych, trial, response, rt_ms, trial.reading_ms);
  }
}
