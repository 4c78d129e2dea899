/** Checks that the participant hears sounds: they count tones twice. The click also lets the page play sounds later. */
import { soundOutput } from "../assets/sound-output";
import { digitOf } from "../timing/response-keys";
import { html } from "./dom";
import { replaceAndFocus } from "./notices";
import { say, TEXTS_LANGUAGE } from "./texts";

const FEWEST_TONES = 2;
const MOST_TONES = 6;
const RIGHT_NEEDED = 2;
const WRONG_ALLOWED = 2;

const FIRST_TONE_S = 0.6; // a screen reader may still be speaking
const TONE_S = 0.25;
const BETWEEN_TONES_S = 0.3;
const TONE_HZ = 660;
const VOLUME = 0.4;
/** A tone swells and fades in this time. Otherwise it would click. */
const RAMP_S = 0.02;

/** Asks the participant to count tones. Resolves with false after too many wrong answers, or if no tones are heard. */
export function hearsSound(container: HTMLElement): Promise<boolean> {
  const play = html("button", { id: "sound-play", type: "button", class: "primary" }, say("sound_check_play"));
  const numbers = Array.from({ length: MOST_TONES }, (_, index) =>
    html("button", { type: "button", class: "secondary", disabled: true, "data-tones": index + 1 }, String(index + 1)),
  );
  const none = html("button", { id: "sound-none", type: "button", class: "secondary" }, say("sound_none"));
  const status = html("p", { role: "status" });
  const page = html(
    "article",
    { id: "sound-check", class: "page", tabindex: -1, lang: TEXTS_LANGUAGE },
    html("h1", {}, say("sound_check_title")),
    html("p", {}, say("sound_check")),
    html("div", { class: "buttons" }, play),
    html("h2", { id: "sound-number" }, say("sound_check_number")),
    html("div", { class: "buttons tone-numbers", role: "group", "aria-labelledby": "sound-number" }, ...numbers),
    status,
    html("div", { class: "buttons" }, none),
  );
  replaceAndFocus(container, page);

  return new Promise((resolve) => {
    let played = otherNumber(0);
    let right = 0;
    let wrong = 0;
    let stop = () => {};

    const accept = (isAccepted: boolean) => numbers.forEach((button) => (button.disabled = !isAccepted));
    const end = (hears: boolean) => {
      stop();
      document.removeEventListener("keydown", onKey);
      resolve(hears);
    };
    const answer = (number: number) => {
      stop();
      if (number === played) right++;
      else wrong++;
      if (right === RIGHT_NEEDED || wrong > WRONG_ALLOWED) return end(right === RIGHT_NEEDED);
      status.textContent = say(number === played ? "sound_check_once_more" : "sound_check_wrong");
      played = otherNumber(played);
      accept(false);
      play.focus({ preventScroll: true });
    };
    const onKey = (event: KeyboardEvent) => {
      const digit = digitOf(event);
      if (digit !== null && digit >= 1 && digit <= MOST_TONES && !numbers[0]!.disabled && !event.repeat) answer(digit);
    };

    document.addEventListener("keydown", onKey);
    numbers.forEach((button, index) => button.addEventListener("click", () => answer(index + 1)));
    none.addEventListener("click", () => end(false));
    play.addEventListener("click", () => {
      stop();
      status.textContent = "";
      accept(true);
      stop = playTones(played);
    });
  });
}

/** Returns a random number of tones, other than the number before. */
function otherNumber(before: number): number {
  const possible = Array.from({ length: MOST_TONES - FEWEST_TONES + 1 }, (_, index) => FEWEST_TONES + index).filter((number) => number !== before);
  return possible[Math.floor(Math.random() * possible.length)]!;
}

/** Plays tones. The returned function stops them. */
function playTones(number: number): () => void {
  const { context } = soundOutput();
  const tones: OscillatorNode[] = [];
  let isStopped = false;
  // Only a context that is running has a clock.
  void soundOutput().allow().then((isAllowed) => {
    if (!isAllowed || isStopped) return;
    for (let tone = 0; tone < number; tone++) {
      const begin_s = context.currentTime + FIRST_TONE_S + tone * (TONE_S + BETWEEN_TONES_S);
      const end_s = begin_s + TONE_S;
      const volume = new GainNode(context, { gain: 0 });
      volume.gain.setValueAtTime(0, begin_s).linearRampToValueAtTime(VOLUME, begin_s + RAMP_S);
      volume.gain.setValueAtTime(VOLUME, end_s - RAMP_S).linearRampToValueAtTime(0, end_s);
      const oscillator = new OscillatorNode(context, { frequency: TONE_HZ });
      oscillator.connect(volume).connect(context.destination);
      oscillator.start(begin_s);
      oscillator.stop(end_s);
      tones.push(oscillator);
    }
  });
  return () => {
    isStopped = true;
    tones.splice(0).forEach((oscillator) => oscillator.stop());
  };
}
