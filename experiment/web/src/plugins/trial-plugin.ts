/** What all our trial plugins share: a trial for people, and jsPsych's two modes of simulation. */
import type { JsPsych } from "jspsych";
import { runTrial, type SimulatedParticipant, simulatedData, type Stimulus, type TrialParameters } from "../run-trial";
import type { ResponseValue, TrialData } from "../saving/server-api";
import { giveRating } from "./rating-scale";

/** Time after which a simulated participant continues, if there is no response time. */
const PAUSE_MS = 500;

/** A plugin of ours. A subclass says what is shown, and how a simulated participant responds. */
export abstract class TrialPlugin<R extends ResponseValue, Trial extends TrialParameters> {
  constructor(protected jsPsych: JsPsych) {}

  /** Builds the stimulus of a trial. `keyboard` is the element that receives the keys. */
  abstract stimulus(trial: Trial, keyboard: HTMLElement): Stimulus<R>;

  /** Returns the response of a simulated participant. */
  protected abstract randomResponse(trial: Trial): R;

  /** Gives a response at `rt_ms` after the onset, as a participant does. */
  protected abstract giveResponse(response: R, rt_ms: number, trial: Trial): void;

  /** Returns the response of a participant who lets the time pass; null if there is no such response. */
  protected withheld(_trial: Trial): R | null {
    return null;
  }

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<TrialData<R>> {
    return this.run(display, trial, on_load);
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<TrialData<R>> },
    on_load: () => void = () => {},
  ): Promise<TrialData<R>> {
    const api = this.jsPsych.pluginAPI;
    const data: TrialData<R> = api.mergeSimulationData(
      simulatedData(this.jsPsych, trial, this.randomResponse(trial), this.withheld(trial)),
      simulation_options,
    );
    if (simulation_mode === "data-only") {
      on_load();
      await trial.on_response(data);
      return data;
    }
    return this.run(this.jsPsych.getDisplayElement(), trial, on_load, {
      respond: () => {
        if (data.response !== null && data.rt_ms !== null) this.giveResponse(data.response, data.rt_ms, trial);
      },
      rateConfidence: (question) => giveRating(this.jsPsych, question, data.confidence!, data.confidence_rt_ms!, 0),
      continue: (button) => api.clickTarget(button, data.rt_ms ?? PAUSE_MS),
    });
  }

  private run(display: HTMLElement, trial: Trial, on_load: () => void, simulated?: SimulatedParticipant) {
    const keyboard = this.jsPsych.getDisplayContainerElement();
    return runTrial(display, keyboard, () => this.stimulus(trial, keyboard), trial, on_load, simulated);
  }
}
