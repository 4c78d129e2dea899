/** A sound of a stimulus. It begins with the onset of the stimulus, and the record says when it was at the output.
 *
 * A sound needs some tens of milliseconds from the page to the output. So it is given to the browser before the onset, with
 * the time at which it must be at the output: the time at which the frame of the onset will be presented.
 */
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { PlayedSound, SoundPart } from "../saving/server-api";
import { presentation_ms } from "../timing/onset";
import { assets } from "./asset-loader";
import { soundOutput } from "./sound-output";
import type { BuiltPart } from "./stimulus-parts";

/** A sound is given to the browser this time before it must be, so that a late frame does no harm. */
const AHEAD_MS = 20;
/** The time at the output is determined this time after the onset, because then more reports of the browser are known. */
const SETTLED_MS = 500;
/** A sound that was given to the browser for another frame is moved to the right frame from this difference on. */
const LEAST_SHIFT_MS = 5;

/** Makes a sound. Shows a button only if the browser does not let the page begin the sound. `part` is its position. */
export function sound({ src, alt }: SoundPart, part: number): BuiltPart {
  const output = soundOutput();
  const audio = output.context;
  let buffer: AudioBuffer | null = null;
  let source: AudioBufferSourceNode | null = null;
  /** Audio time at which the sound begins; null if it was never begun. */
  let begin_s: number | null = null;
  let heard_ms: number | null = null;

  const bytes = assets.blob(src)?.arrayBuffer() ?? fetch(src).then((reply) => reply.arrayBuffer());
  const ready = Promise.resolve(bytes)
    .then((data) => audio.decodeAudioData(data))
    .then((decoded) => (buffer = decoded));

  const begin = (at_ms: number) => {
    source?.stop();
    source = new AudioBufferSourceNode(audio, { buffer });
    source.connect(audio.destination);
    begin_s = Math.max(audio.currentTime, output.audioTime_s(at_ms));
    source.start(begin_s);
    setTimeout(() => (heard_ms = heardSince_ms()), at_ms - performance.now() + SETTLED_MS);
  };
  const hasBegun = () => begin_s !== null && audio.currentTime >= begin_s;
  const heardSince_ms = () => (hasBegun() ? output.outputTime_ms(begin_s!) : null);

  const button = html("button", { type: "button", class: "play-sound", hidden: true, lang: TEXTS_LANGUAGE }, say("play_sound"));
  button.addEventListener("click", async () => {
    if (!(await output.allow())) return;
    button.closest<HTMLElement>("#stimulus")?.focus({ preventScroll: true }); // a hidden button would lose the keys
    button.hidden = true;
    begin(performance.now() + output.lead_ms);
  });

  return {
    element: html("div", { class: "sound" }, html("span", { class: "visually-hidden" }, alt), button),
    ready,
    prepare: (frame_ms) => {
      const at_ms = presentation_ms(frame_ms);
      if (!buffer || !output.isRunning || begin_s !== null) return;
      const isTime = at_ms - performance.now() < output.lead_ms + AHEAD_MS;
      if (isTime && output.audioTime_s(at_ms) > audio.currentTime) begin(at_ms);
    },
    start: (frame_ms) => {
      if (!output.isRunning || !buffer) {
        button.hidden = false;
        return;
      }
      const at_ms = presentation_ms(frame_ms);
      const isPlanned = begin_s !== null && Math.abs(output.audioTime_s(at_ms) - begin_s) < LEAST_SHIFT_MS / 1_000;
      if (!isPlanned && !hasBegun()) begin(Math.max(at_ms, frame_ms + output.lead_ms));
    },
    stop: () => source?.stop(),
    played: (onset_ms): PlayedSound[] => {
      const at_ms = heard_ms ?? heardSince_ms();
      return [at_ms === null ? { part, onset_ms: null, latency_ms: null } : { part, onset_ms: at_ms - onset_ms, latency_ms: output.latency_ms }];
    },
  };
}
