/** Checks that this device meets the study's requirements, before anything is stored or sent. If a requirement is not met,
 * a page shows the requirement. Except on a refused phone, the page has a button to try again.
 */
import type { DeviceFound, DeviceNeeds, Exit } from "../saving/server-api";
import { html } from "./dom";
import { screenMeasures } from "./calibration";
import { showIncompatible } from "./end-pages";
import { illustration } from "./illustrations";
import { hearsSound } from "./sound-check";
import { canStore } from "../saving/kept-responses";
import { FrameMeter } from "../timing/frame-meter";
import { replaceAndFocus } from "./notices";
import { say, TEXTS_LANGUAGE } from "./texts";
import { isTranslated } from "../translation";

/** A device with a touch screen is a phone if the short side of its screen has fewer CSS pixels than this number. */
const SMALLEST_TABLET_PX = 600;

/** Tolerance of the refresh rate. A display rarely has exactly its nominal rate: a display of 60 Hz can have 59.94 Hz. */
const REFRESH_TOLERANCE = 0.02;

/** The measurement of the display's frame interval. */
export const frames = new FrameMeter();

let keyboard: true | null = null;
let sound: true | null = null;

export async function deviceFound(): Promise<DeviceFound> {
  await frames.known();
  const frame_used_ms = frames.used_ms;
  return {
    width_px: window.innerWidth,
    height_px: window.innerHeight,
    screen_width_px: screen.width,
    screen_height_px: screen.height,
    pixel_ratio: window.devicePixelRatio,
    frame_ms: frames.measured_ms,
    frame_used_ms,
    touch: navigator.maxTouchPoints > 0,
    phone: isPhone(),
    keyboard,
    automation: navigator.webdriver,
    color_scheme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
    text_px: parseFloat(getComputedStyle(document.documentElement).fontSize),
    clock_ms: clockStep_ms(),
    translated: isTranslated(),
    storage: canStore(),
    sound,
    px_per_cm: screenMeasures()?.px_per_cm ?? null,
    distance_cm: screenMeasures()?.distance_cm ?? null,
  };
}

/** Longest measurement of the clock's smallest step. */
const CLOCK_MEASURED_MS = 20;

/** Measures the smallest step of the browser's clock. Some browsers make their clocks coarse, to protect their users. */
function clockStep_ms(): number {
  const start_ms = performance.now();
  let smallest_ms = CLOCK_MEASURED_MS;
  let last_ms = start_ms;
  for (let steps = 0; steps < 1_000 && last_ms - start_ms < CLOCK_MEASURED_MS; ) {
    const now_ms = performance.now();
    if (now_ms === last_ms) continue;
    smallest_ms = Math.min(smallest_ms, now_ms - last_ms);
    last_ms = now_ms;
    steps++;
  }
  return Number(smallest_ms.toFixed(6)); // without errors of floating-point arithmetic
}

export function isPhone(): boolean {
  return matchMedia("(pointer: coarse)").matches && Math.min(screen.width, screen.height) < SMALLEST_TABLET_PX;
}

/** Resolves once the device meets the study's requirements. Until then, `container` shows the unmet requirements, or asks
 * for a key.
 */
export async function untilDeviceFits(container: HTMLElement, needs: DeviceNeeds, exit: Exit): Promise<void> {
  for (let lacks; (lacks = await lacking(container, needs)).length > 0; ) {
    await untilTriedAgain(container, needs, lacks, exit);
    frames.restart(); // the participant may have moved the window to another screen
  }
}

async function lacking(container: HTMLElement, needs: DeviceNeeds): Promise<string[]> {
  if (!needs.phones && isPhone()) return [say("device_phone")];
  const lacks = [...lackingSize(needs), ...(await lackingRefresh(needs))];
  if (lacks.length === 0 && needs.keyboard && !keyboard && !(await hasKeyboard(container))) lacks.push(say("device_keyboard"));
  if (lacks.length === 0 && needs.sound) {
    if (await hearsSound(container)) sound = true;
    else lacks.push(say("device_sound"));
  }
  return lacks;
}

function lackingSize({ width_px, height_px }: DeviceNeeds): string[] {
  const here_width = window.innerWidth;
  const here_height = window.innerHeight;
  const width = width_px ?? here_width;
  const height = height_px ?? here_height;
  return here_width < width || here_height < height ? [say("device_size", { width, height, here_width, here_height })] : [];
}

async function lackingRefresh({ refresh_hz }: DeviceNeeds): Promise<string[]> {
  if (refresh_hz === null) return [];
  await frames.known();
  const here_hz = 1000 / frames.used_ms;
  const isFast = here_hz >= refresh_hz * (1 - REFRESH_TOLERANCE);
  return isFast ? [] : [say("device_refresh", { hz: refresh_hz, here_hz: Math.round(here_hz) })];
}

/** Shows the unmet requirements. Resolves when the participant presses the button to try again, or has enlarged a window
 * that was too small.
 */
function untilTriedAgain(container: HTMLElement, needs: DeviceNeeds, lacks: string[], exit: Exit): Promise<void> {
  const kind = exit.url ? "secondary" : "primary"; // the way back to the panel is the main button
  const tryAgain = html("button", { id: "device-try-again", type: "button", class: kind }, say("device_try_again"));
  showIncompatible(container, lacks, exit, ...(isPhone() && !needs.phones ? [] : [tryAgain]));
  const wasTooSmall = lackingSize(needs).length > 0;
  return new Promise((resolve) => {
    const resized = () => {
      if (wasTooSmall && lackingSize(needs).length === 0) done();
    };
    const done = () => {
      window.removeEventListener("resize", resized);
      resolve();
    };
    window.addEventListener("resize", resized);
    tryAgain.addEventListener("click", done);
  });
}

/** Asks the participant to press the space bar, because no browser reports whether there is a keyboard. */
function hasKeyboard(container: HTMLElement): Promise<boolean> {
  const none = html("button", { id: "keyboard-none", type: "button", class: "secondary" }, say("keyboard_none"));
  const page = html(
    "article",
    { id: "keyboard-check", class: "page", tabindex: -1, lang: TEXTS_LANGUAGE },
    illustration("keyboard"),
    html("h1", {}, say("keyboard_check_title")),
    html("p", {}, say("keyboard_check")),
    html("div", { class: "buttons" }, none),
  );
  replaceAndFocus(container, page);
  return new Promise((resolve) => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== " " || event.repeat) return;
      event.preventDefault(); // the space bar would scroll the page or press the button
      keyboard = true;
      decide(true);
    };
    const decide = (there: boolean) => {
      document.removeEventListener("keydown", onKey);
      resolve(there);
    };
    document.addEventListener("keydown", onKey);
    none.addEventListener("click", () => decide(false));
  });
}
