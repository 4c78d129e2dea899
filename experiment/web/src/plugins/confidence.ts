import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { askConfidence, simulatedConfidence } from "../confidence";
import type { SimulatedParticipant } from "../run-trial";
import type { ConfidenceQuestion, GivenConfidence } from "../saving/server-api";
import { giveRating } from "./rating-scale";

const info = {
  name: "confidence",
  version: "1.0.0",
  parameters: {
    /** {prompt, low, high, step, labels, shown_as}, as in the plugin `rating`. */
    question: { type: ParameterType.OBJECT, default: undefined },
    /** The display's frame interval, in ms. */
    frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
  },
  data: {
    confidence: { type: ParameterType.FLOAT },
    /** Time from the question to its answer, in ms. */
    confidence_rt_ms: { type: ParameterType.FLOAT },
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & { question: ConfidenceQuestion };

/** The question about confidence after a trial of a published plugin. Our own trials contain the question. */
export default class ConfidencePlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<GivenConfidence> {
    return this.ask(display, trial, on_load);
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    _options: object,
    on_load: () => void = () => {},
  ): Promise<GivenConfidence> {
    const given = simulatedConfidence(this.jsPsych, trial.question);
    if (simulation_mode === "visual") {
      const rateConfidence = () => giveRating(this.jsPsych, trial.question, given.confidence, given.confidence_rt_ms, 0);
      return this.ask(this.jsPsych.getDisplayElement(), trial, on_load, { rateConfidence });
    }
    on_load();
    return given;
  }

  private ask(display: HTMLElement, { question, frame_ms = 1000 / 60 }: Trial, on_load: () => void, simulated?: Pick<SimulatedParticipant, "rateConfidence">) {
    const asked = askConfidence(display, this.jsPsych.getDisplayContainerElement(), question, frame_ms, simulated);
    on_load();
    return asked;
  }
}
