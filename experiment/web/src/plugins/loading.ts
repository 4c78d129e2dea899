import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { assets } from "../assets/asset-loader";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";

const info = {
  name: "loading",
  version: "1.0.0",
  parameters: {
    /** Index of the trial whose pictures and sounds are awaited. */
    trial_index: { type: ParameterType.INT, default: undefined },
    /** Called if a file cannot be loaded. */
    on_failure: { type: ParameterType.FUNCTION, default: undefined },
  },
  data: {
    /** Time that the participant waited, in ms. */
    duration_ms: { type: ParameterType.FLOAT },
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & { on_failure: (error: unknown) => void };

/** Waits until the pictures and sounds of a trial are loaded, and shows how far it is. */
export default class LoadingPlugin implements JsPsychPlugin<Info> {
  static info = info;

  async trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<{ duration_ms: number }> {
    const start_ms = performance.now();
    const words = html("p", { role: "status" }, say("loading"));
    const bar = html("progress", { "aria-label": say("loading") });
    display.replaceChildren(html("div", { id: "loading", class: "page", lang: TEXTS_LANGUAGE }, words, bar));
    on_load();
    try {
      await assets.ready(trial.trial_index!, ({ loaded, needed, waiting }) => {
        bar.max = needed;
        bar.value = loaded;
        words.textContent = say(waiting ? "unreachable" : "loading");
      });
    } catch (error) {
      trial.on_failure(error);
      return new Promise<never>(() => {}); // the experiment is aborted
    }
    return { duration_ms: performance.now() - start_ms };
  }

  async simulate(_trial: Trial, _mode: string, _options: object, on_load: () => void = () => {}): Promise<{ duration_ms: number }> {
    on_load();
    return { duration_ms: 0 };
  }
}
