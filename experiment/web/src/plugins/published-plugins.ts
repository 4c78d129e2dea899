/** Published jsPsych plugins of a study, in their builds for browsers. Each trial begins with our fixation, and the
 * plugin's data are the response.
 */
import * as jsPsychModule from "jspsych";
import { type JsPsychPlugin, ParameterType } from "jspsych";
import type { ParameterFiles } from "../assets/parameter-files";
import { withReferences } from "../saving/parameter-references";
import { ApiError, type Shown, type Study, type TrialData } from "../saving/server-api";
import { html } from "../pages/dom";
import { presentationOf } from "../run-trial";
import { type Fixation, showAfterFixation, showInterval, simulatedInterval } from "../timing/fixation";
import { askForOnset, type Onset, watchOnset } from "../timing/onset";
import { beganAt_ms, inputOf } from "../timing/input-events";
import { TrialSignals } from "../signals";

type PluginClass = new (jsPsych: jsPsychModule.JsPsych) => JsPsychPlugin<jsPsychModule.PluginInfo>;
export type ForeignPlugin = PluginClass & { info: jsPsychModule.PluginInfo };

/** Fields that jsPsych adds to the data of every trial. */
const ADDED_BY_JSPSYCH = ["trial_type", "trial_index", "plugin_version", "time_elapsed", "internal_node_id"];

/** Class of the display while a plugin uses it. Then the display has the layout that plugins expect. */
const LAYOUT = "published-plugin";

/** Steps of its own promises that a plugin may take in the frame of the onset before it shows something. */
const MOST_STEPS = 20;

/** Loads the study's plugins. The file of each plugin defines a variable. Throws if a variable does not contain a plugin. */
export async function loadPlugins(plugins: Study["plugins"]): Promise<Map<string, ForeignPlugin>> {
  const variables = window as unknown as Record<string, unknown>;
  variables["jsPsychModule"] = jsPsychModule;
  const loaded = new Map<string, ForeignPlugin>();
  for (const [name, { address, variable }] of Object.entries(plugins)) {
    await loadScript(address);
    const plugin = variables[variable] as ForeignPlugin | undefined;
    if (!plugin?.info) throw new ApiError(400, `The plugin ${name} does not make the variable ${variable}.`);
    const missing = Object.entries(plugin.info.parameters).find(([, { type, default: value }]) => type === ParameterType.FUNCTION && value === undefined);
    if (missing) throw new ApiError(400, `The plugin ${name} needs a function as its parameter ${missing[0]}, which an item cannot contain.`);
    loaded.set(name, plugin);
  }
  return loaded;
}

function loadScript(address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      script.remove();
      reject(new Error(`${address} could not be loaded.`));
    });
    document.head.append(script);
  });
}

/** Records our data of a published plugin's trial, in addition to the plugin's own data. */
export class ForeignTrial {
  private signals = new TrialSignals();
  private lastInput: Event | null = null;
  private listening = new AbortController();
  private intertrial: Shown | null = null;
  private fixation: Fixation | null = null;
  private display: HTMLElement | null = null;
  private onset: (() => Promise<Onset>) | null = null;
  private called_ms = 0;
  /** Time at which the stimulus is visible. */
  private visible_ms = 0;

  constructor(
    private trial: { intertrial_ms: number; fixation_ms: number; frame_ms: number; parameters: Record<string, unknown> },
    private files: ParameterFiles,
    private onShown: () => void,
  ) {
    const onDocument = { signal: this.listening.signal, capture: true };
    for (const type of ["keydown", "mousedown", "click"]) document.addEventListener(type, (event) => this.note(event), onDocument);
  }

  /** Notes the input. Keeps an event from the plugin if its action began before the stimulus was visible, such as the
   * second click of a double click on the trial before.
   */
  private note(event: Event): void {
    if (beganAt_ms(event) >= this.visible_ms) {
      if (event.type !== "mousedown") this.lastInput = event;
      return;
    }
    event.stopImmediatePropagation();
    if (event.type === "click") this.signals.count("too_early");
  }

  /** Shows the fixation, and then calls `show`, which shows the stimulus. Resolves with the result of `show` in an object,
   * because the result can be a promise for the end of the trial.
   */
  async begin<T>(display: HTMLElement, show: () => T): Promise<{ result: T }> {
    const { intertrial_ms, fixation_ms, frame_ms } = this.trial;
    const interval = await showInterval(display, intertrial_ms, frame_ms);
    if (interval === null) return new Promise(() => {}); // the experiment was aborted
    this.intertrial = interval.shown;
    this.signals.stop();
    this.signals = new TrialSignals(); // the signals of the interval belong to no trial
    const build = () => ({ element: html("div"), ready: this.files.ready });
    this.fixation = await showAfterFixation(display, build, fixation_ms, frame_ms, interval.end_ms);
    this.visible_ms = this.fixation.end_ms + frame_ms;
    // This is still the frame in which the cross disappears.
    this.called_ms = performance.now();
    this.display = display;
    display.translate = false; // the wording is the stimulus
    display.replaceChildren(); // as jsPsych does between trials
    display.classList.add(LAYOUT);
    const result = show();
    // A plugin for sounds first waits for its decoded sound. All of this happens before the frame is painted.
    for (let step = 0; step < MOST_STEPS && display.childElementCount === 0; step++) await null;
    askForOnset(display);
    this.onset = watchOnset(display, this.fixation.end_ms);
    letVideosBegin(display);
    this.onShown();
    return { result };
  }

  /** Returns the trial's record from the plugin's `data`. The plugin's `rt` begins when the plugin is called; `rt_ms` begins
   * at the onset.
   */
  async record(data: Record<string, unknown>): Promise<TrialData> {
    this.listening.abort();
    this.files.release();
    if (this.display) this.display.translate = true; // pages to read may be translated
    this.display?.classList.remove(LAYOUT);
    const { end_ms: _, ...fixation } = this.fixation ?? simulatedFixation(this.trial);
    const { intertrial_ms, frame_ms } = this.trial;
    const intertrial = this.fixation ? this.intertrial : simulatedInterval(intertrial_ms, frame_ms);
    const { onset_ms, onset_source } = (await this.onset?.()) ?? { onset_ms: performance.now(), onset_source: "painted" };
    const rt_ms = typeof data["rt"] === "number" ? Math.max(0, data["rt"] - (onset_ms - this.called_ms)) : null;
    const recorded = Object.fromEntries(Object.entries(data).filter(([name]) => !ADDED_BY_JSPSYCH.includes(name)));
    const rt_from_onset_ms = this.onset ? rt_ms : (data["rt"] as number | null);
    return {
      response: withReferences(this.files.recorded(recorded), this.trial.parameters),
      missing: null,
      input: this.lastInput && inputOf(this.lastInput),
      rt_ms: rt_from_onset_ms,
      ...fixation,
      frame_ms,
      shown_at: new Date(Date.now() - (performance.now() - onset_ms)).toISOString(),
      onset_source,
      ...this.signals.record(rt_from_onset_ms),
      presentation: presentationOf(intertrial),
      confidence: null,
      confidence_rt_ms: null,
    };
  }
}

/** Shows the controls of a video if the browser does not let the page begin the video. Otherwise a trial could never end. */
function letVideosBegin(display: HTMLElement): void {
  for (const video of display.querySelectorAll("video")) {
    if (!video.autoplay) continue;
    video.play().catch((error: DOMException) => {
      if (error.name === "NotAllowedError") video.controls = true;
    });
  }
}

function simulatedFixation({ fixation_ms, frame_ms }: { fixation_ms: number; frame_ms: number }): Fixation {
  const fixation_frames = Math.round(fixation_ms / frame_ms);
  return {
    end_ms: 0,
    fixation_ms: fixation_frames * frame_ms,
    fixation_frames,
    fixation_frames_intended: fixation_frames,
    frames_dropped: 0,
  };
}

/** Returns a plugin whose trials begin with our fixation. Its own parameters and its simulation do not change. */
export function withFixation(Plugin: ForeignPlugin): ForeignPlugin {
  return class extends Plugin {
    static override info = {
      ...Plugin.info,
      parameters: {
        ...Plugin.info.parameters,
        /** Begins a trial. Called with the display and the function that shows the plugin's stimulus. */
        begin: { type: ParameterType.FUNCTION, default: undefined },
      },
    };

    constructor(jsPsych: jsPsychModule.JsPsych) {
      super(jsPsych);
      // Simulations skip the fixation, because they expect the stimulus on the page as soon as `trial` returns.
      const plain = new Plugin(jsPsych);
      if (plain.simulate) this.simulate = plain.simulate.bind(plain);
    }

    override trial(display: HTMLElement, trial: never, on_load?: () => void): Promise<object> {
      const { begin } = trial as { begin: ForeignTrial["begin"] };
      const show = () => super.trial(display, trial, on_load);
      return begin(display, show).then(({ result }: { result: unknown }) => {
        if (result instanceof Promise) return result as Promise<object>;
        on_load?.();
        return new Promise<never>(() => {}); // the trial ends with `jsPsych.finishTrial`
      });
    }
  };
}
