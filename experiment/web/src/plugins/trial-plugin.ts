/** What all our trial plugins share: a trial for people, and jsPsych's two modes of simulation. */
import type { JsPsych } from "jspsych";
import { runTrial, type SimulatedParticipant, simulatedData, type Stimulus, type TrialParameters } from "../run-trial";
import type { ResponseValue, TrialData } from "../saving/server-api";

/** A plugin of ours. A subclass says what is shown, and how a simulated participant responds. */
export abstract class TrialPlugin<R extends ResponseValue, Trial extends TrialParameters> {
  constructor(protected jsPsych: JsPsych) {}

  /** Builds the stimulus of a trial. `keyboard` is the element that receives the keys. */
  abstract stimulus(trial: Trial, keyboard: HTMLElement): Stimulus<R>;

  /** Returns the response of a simulated participant. */
  protected abstract randomResponse(trial: Trial): R;

  /** Gives a response at `rt_ms` after the onset, as a participant does. */
  protected abstract giveResponse(response: R, rt_ms: number, trial: Trial): void;

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
      simulatedData(this.jsPsych, trial, this.randomResponse(trial)),
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
      continue: (button) => api.clickTarget(button, data.rt_ms ?? trial.reading_ms),
    });
  }

  private run(display: HTMLElement, trial: Trial, on_load: () => void, simulated?: SimulatedParticipant) {
    const build = () => this.stimulus(trial, this.jsPsych.getDisplayContainerElement());
    return runTrial(display, build, trial, on_load, simulated);
  }
}
