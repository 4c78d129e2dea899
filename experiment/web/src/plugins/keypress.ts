import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { stimulusParts, type StimulusParts, together } from "../assets/stimulus-parts";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, RemovedParts, Stimulus, TrialParameters } from "../run-trial";
import type { KeypressContent } from "../saving/server-api";
import { FramesShown } from "../timing/frames-shown";
import { nextFrame } from "../timing/fixation";
import { beganAt_ms } from "../timing/input-events";
import { usesTouch } from "../timing/input-hints";
import { keyNameOf, typedKeyOf } from "../timing/response-keys";
import type { ResponseWindow } from "../timing/response-window";
import { keyLabel } from "./key-label";
import { paragraphs } from "./question-element";
import { stimulusParameters, trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "keypress",
  version: "1.0.0",
  parameters: {
    ...stimulusParameters,
    /** The text above the stimulus. Blank lines separate paragraphs. May be empty. */
    text: { type: ParameterType.STRING, default: "" },
    /** A short question above the stimulus. May be empty. */
    prompt: { type: ParameterType.STRING, default: "" },
    /** The name of the response of each key, such as {f: "word", j: "nonword"}. A key is a small letter, a digit, "space",
     * "left", "right", "up" or "down".
     */
    keys: { type: ParameterType.OBJECT, default: undefined },
    /** Duration of the stimulus in ms, rounded to whole frames; null if it stays until the response. */
    stimulus_ms: { type: ParameterType.FLOAT, default: null },
    /** Parts that replace the stimulus after `stimulus_ms`. */
    mask: { type: ParameterType.COMPLEX, array: true, default: [] },
    /** Duration of the mask in ms, rounded to whole frames; null if it stays until the response. */
    mask_ms: { type: ParameterType.FLOAT, default: null },
    /** Time after onset for a response, in ms. It replaces `deadline_ms`. Null if `deadline_ms` applies. */
    window_ms: { type: ParameterType.FLOAT, default: null },
    /** True if no key within `window_ms` is the response "none". */
    withhold: { type: ParameterType.BOOL, default: false },
    ...trialParameters,
  },
  data: {
    /** The name of the response: a name of `keys`, or "none". */
    response: { type: ParameterType.STRING },
    ...trialData,
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & KeypressContent & TrialParameters;

/** The response of a participant who presses no key. */
const WITHHELD = "none";

/** A fast response with a key, or with a button on a touch screen. */
export default class KeypressPlugin extends TrialPlugin<string, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return new KeypressStimulus(trial, keyboard);
  }

  override trial(display: HTMLElement, trial: Trial, on_load?: () => void) {
    return super.trial(display, withWindow(trial), on_load);
  }

  override simulate(trial: Trial, ...mode: [mode: "data-only" | "visual", options: object, on_load?: () => void]) {
    return super.simulate(withWindow(trial), ...mode);
  }

  protected randomResponse(trial: Trial) {
    const responses = [...Object.values(trial.keys), ...(trial.withhold ? [WITHHELD] : [])];
    return this.jsPsych.randomization.sampleWithoutReplacement(responses, 1)[0]!;
  }

  protected giveResponse(response: string, rt_ms: number, { keys }: Trial) {
    const key = Object.keys(keys).find((name) => keys[name] === response)!;
    this.jsPsych.pluginAPI.pressKey(typedKeyOf(key), rt_ms);
  }

  protected override withheld({ withhold }: Trial) {
    return withhold ? WITHHELD : null;
  }
}

/** Returns the trial with its response window as the deadline. A fast response has no reading time. */
function withWindow(trial: Trial): Trial {
  return { ...trial, reading_ms: 0, deadline_ms: trial.window_ms ?? trial.deadline_ms };
}

class KeypressStimulus implements Stimulus<string> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: HTMLButtonElement[];
  readonly withheld: string | null;
  private shown: HTMLElement;
  private mask: HTMLElement;
  private parts: StimulusParts;
  private partsOfMask: StimulusParts;
  private chosen: string | null = null;

  constructor(
    private content: KeypressContent,
    private keyboard: HTMLElement,
  ) {
    this.parts = stimulusParts(content.stimulus ?? [], true);
    this.partsOfMask = stimulusParts(content.mask, true);
    const { prepare, start, played } = this.parts;
    this.media = { ...together(this.parts, this.partsOfMask), prepare, start, played };
    this.withheld = content.withhold ? WITHHELD : null;
    this.shown = html("div", { class: "stimulus-parts" }, ...this.parts.elements);
    // The mask takes its space from the onset, so that nothing moves when it appears.
    this.mask = html("div", { class: "stimulus-parts mask unseen", "aria-hidden": "true" }, ...this.partsOfMask.elements);
    const touch = usesTouch();
    this.controls = Object.keys(content.keys)
      .sort((one, other) => columnOf(one) - columnOf(other))
      .map((key) => keyButton(key, content.keys[key]!));
    const noPrompt = { class: "visually-hidden", lang: TEXTS_LANGUAGE };
    this.element = html(
      "div",
      { id: "stimulus", class: "question-trial keypress", translate: "no", role: "group", tabindex: -1, "aria-labelledby": "text prompt" },
      html(
        "div",
        { class: "keypress-question" },
        html("div", { id: "text" }, ...paragraphs(content.text).map((paragraph) => html("p", {}, paragraph))),
        html("h1", { id: "prompt", ...(content.prompt ? {} : noPrompt) }, content.prompt || say(touch ? "multiple_choice_help_touch" : "keypress_help")),
      ),
      html("div", { class: "keypress-stage" }, this.shown, this.mask),
      html("div", { class: touch ? "keypress-buttons touch" : "keypress-buttons" }, ...this.controls),
    );
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<string>> {
    return new Promise((resolve) => {
      const respond = (event: Event, key: string) => {
        if (!responseWindow.takes(event)) return;
        this.chosen = this.content.keys[key]!;
        resolve({ response: this.chosen, event });
      };
      const onKey = (event: KeyboardEvent) => {
        const key = keyNameOf(event);
        if (key === null || !(key in this.content.keys) || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault(); // the space key and the arrow keys would scroll the page or press a button
        respond(event, key);
      };
      const signal = responseWindow.closed;
      this.keyboard.addEventListener("keydown", onKey, { signal });
      for (const button of this.controls) {
        const key = button.dataset["key"]!;
        // The press is the response, because a click comes only when the finger leaves the screen.
        const onPress = (event: PointerEvent) => event.isTrusted && event.button === 0 && respond(event, key);
        button.addEventListener("pointerdown", onPress, { signal });
        // Switch devices and screen readers click without a press.
        const onClick = (event: MouseEvent) => beganAt_ms(event) === event.timeStamp && respond(event, key);
        button.addEventListener("click", onClick, { signal });
      }
    });
  }

  removeInTime(onset_ms: number, frame_ms: number, closed: AbortSignal): () => RemovedParts {
    const removed: RemovedParts = { stimulus: null, mask: null };
    const { stimulus_ms, mask, mask_ms } = this.content;
    /** Resolves with the time stamp of the first frame after the duration; or with null if the participant responded. */
    const untilOver = async (frames: FramesShown, next?: StimulusParts): Promise<number | null> => {
      for (;;) {
        const stamp_ms = await nextFrame();
        if (closed.aborted) return null;
        if (frames.isOver(stamp_ms)) return stamp_ms;
        const at_ms = frames.endAfter(stamp_ms);
        if (at_ms !== null) next?.prepare(at_ms);
      }
    };
    const run = async () => {
      const frames = new FramesShown(onset_ms, frame_ms, stimulus_ms);
      closed.addEventListener("abort", () => frames.stop());
      const end_ms = await untilOver(frames, this.partsOfMask);
      if (end_ms === null) return;
      this.shown.classList.add("unseen");
      this.parts.stop();
      if (mask.length > 0) {
        this.mask.classList.remove("unseen");
        this.mask.removeAttribute("aria-hidden");
        this.partsOfMask.start(end_ms);
      }
      removed.stimulus = frames.end(end_ms);
      if (mask_ms === null) return;
      const framesOfMask = new FramesShown(end_ms, frame_ms, mask_ms);
      closed.addEventListener("abort", () => framesOfMask.stop());
      const maskEnd_ms = await untilOver(framesOfMask);
      if (maskEnd_ms === null) return;
      this.mask.classList.add("unseen");
      this.partsOfMask.stop();
      removed.mask = framesOfMask.end(maskEnd_ms);
    };
    if (stimulus_ms !== null) void run();
    return () => removed;
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of this.controls) button.disabled = true;
  }

  showResponse(response: string): void {
    this.chosen = response;
  }

  showSolution(solution: unknown): void {
    for (const button of this.controls) {
      const name = this.content.keys[button.dataset["key"]!];
      if (name === solution) mark(button, "right", `✓ ${say("right_answer")}`);
      else if (name === this.chosen) mark(button, "wrong", `✗ ${say("your_answer")}`);
    }
  }
}

function keyButton(key: string, name: string): HTMLButtonElement {
  return html(
    "button",
    { type: "button", "data-key": key },
    html("kbd", { lang: TEXTS_LANGUAGE }, keyLabel(key)),
    html("span", { class: "key-name", dir: "auto" }, name),
  );
}

const ROWS_OF_KEYS = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

/** Returns the distance of a key from the left end of the keyboard, for the order of the buttons. */
function columnOf(key: string): number {
  const row = ROWS_OF_KEYS.findIndex((keys) => keys.includes(key));
  if (row >= 0) return ROWS_OF_KEYS[row]!.indexOf(key) + row / 4;
  return { space: 5, left: 20, down: 21, up: 22 }[key] ?? 23;
}

function mark(button: HTMLButtonElement, name: "right" | "wrong", words: string): void {
  button.classList.add(name);
  button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, words));
}
