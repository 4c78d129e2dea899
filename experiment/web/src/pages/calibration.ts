/** Measures the screen with a bank card (Li et al., 2020), and asks for the viewing distance. After a reload, the page asks
 * again only if the zoom or the screen has changed.
 */
import { NOMINAL_PX_PER_CM, type ScreenMeasures, useMeasures } from "../assets/visual-angle";
import type { DeviceNeeds } from "../saving/server-api";
import { html } from "./dom";
import { replaceAndFocus } from "./notices";
import { say, TEXTS_LANGUAGE } from "./texts";

/** Size of a card (ISO/IEC 7810, ID-1). */
const LONG_CM = 8.56;
const SHORT_CM = 5.398;

const LEAST_PX_PER_CM = 12;
const MOST_PX_PER_CM = 110;
/** The rectangle is smaller than the card at first, so that every participant must change it. */
const FIRST_PX_PER_CM = 0.7 * NOMINAL_PX_PER_CM;
const STEP_PX = 1;
/** Space at the sides of the page. */
const MARGINS_PX = 40;

const KEY = "equipoise-screen";

/** The measures with the screen and the zoom to which they apply. */
interface KeptMeasures extends ScreenMeasures {
  screen: string;
}

let known: ScreenMeasures | null = null;

/** The measures of this visit; null if the study needs none. */
export function screenMeasures(): ScreenMeasures | null {
  return known;
}

/** Measures the screen, unless the study needs no measures or this browser has them. */
export async function calibrate(container: HTMLElement, { calibration, distance_cm }: DeviceNeeds): Promise<void> {
  if (!calibration) return;
  const kept = keptMeasures();
  if (kept?.screen === thisScreen() && kept.distance_cm === distance_cm) known = { px_per_cm: kept.px_per_cm, distance_cm };
  else {
    known = { px_per_cm: await measured(container), distance_cm };
    await untilSeated(container, distance_cm);
    keep({ ...known, screen: thisScreen() });
  }
  useMeasures(known);
}

/** Forgets the measures at the end of the study. */
export function forgetScreen(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {}
}

/** Shows a rectangle that the participant makes as large as a card. Resolves with the pixels per cm; null without a card. */
function measured(container: HTMLElement): Promise<number | null> {
  const room_px = Math.min(document.documentElement.clientWidth - MARGINS_PX, 2 * window.innerHeight);
  const isUpright = room_px < LONG_CM * 1.5 * NOMINAL_PX_PER_CM; // a phone is narrower than a card
  const [width_cm, height_cm] = isUpright ? [SHORT_CM, LONG_CM] : [LONG_CM, SHORT_CM];
  const most_px = Math.min(room_px, width_cm * MOST_PX_PER_CM);

  const card = html("div", { class: "card", role: "img", "aria-label": say("calibration_size") });
  const slider = html("input", {
    id: "card-size",
    type: "range",
    min: Math.floor(width_cm * LEAST_PX_PER_CM),
    max: Math.floor(most_px),
    step: STEP_PX,
    value: Math.round(width_cm * FIRST_PX_PER_CM),
    "aria-label": say("calibration_size"),
  });
  const smaller = html("button", { id: "card-smaller", type: "button", "aria-label": say("calibration_smaller") }, "−");
  const larger = html("button", { id: "card-larger", type: "button", "aria-label": say("calibration_larger") }, "+");
  const done = html("button", { id: "calibration-done", type: "button", class: "primary", disabled: true }, say("calibration_done"));
  const none = html("button", { id: "calibration-none", type: "button", class: "secondary" }, say("calibration_none"));
  const draw = () => {
    const px_per_cm = Number(slider.value) / width_cm;
    card.style.width = `${width_cm * px_per_cm}px`;
    card.style.height = `${height_cm * px_per_cm}px`;
  };
  const change = () => {
    draw();
    done.disabled = false;
  };
  draw();
  slider.addEventListener("input", change);
  for (const [button, step_px] of [[smaller, -STEP_PX], [larger, STEP_PX]] as const) {
    button.addEventListener("click", () => {
      slider.value = String(Number(slider.value) + step_px);
      change();
    });
  }
  showPage(
    container,
    "calibration",
    html("h1", {}, say("calibration_title")),
    html("p", {}, say("calibration")),
    card,
    html("div", { class: "card-size" }, smaller, slider, larger),
    html("div", { class: "buttons" }, done, none),
  );
  return new Promise((resolve) => {
    done.addEventListener("click", () => resolve(Number(slider.value) / width_cm));
    none.addEventListener("click", () => resolve(null));
  });
}

/** Asks the participant to sit at the study's viewing distance. The page cannot measure the distance. */
function untilSeated(container: HTMLElement, distance_cm: number): Promise<void> {
  const seated = html("button", { id: "distance-done", type: "button", class: "primary" }, say("continue"));
  const cards = Math.round((10 * distance_cm) / LONG_CM) / 10;
  showPage(
    container,
    "viewing-distance",
    html("h1", {}, say("distance_title")),
    html("p", {}, say("distance", { distance: inWords(distance_cm), cards: inWords(cards) })),
    html("div", { class: "buttons" }, seated),
  );
  return new Promise((resolve) => seated.addEventListener("click", ({ detail }) => detail > 1 || resolve()));
}

function showPage(container: HTMLElement, id: string, ...words: HTMLElement[]): void {
  replaceAndFocus(container, html("article", { id, class: "page", tabindex: -1, lang: TEXTS_LANGUAGE }, ...words));
}

/** Returns a number as the participant's language writes it. */
function inWords(value: number): string {
  return value.toLocaleString(TEXTS_LANGUAGE, { maximumFractionDigits: 1 });
}

/** Names the screen and the zoom, by which a measure is in pixels. */
function thisScreen(): string {
  return [screen.width, screen.height, window.devicePixelRatio].join(" ");
}

function keptMeasures(): KeptMeasures | null {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "null") as KeptMeasures | null;
  } catch {
    return null;
  }
}

function keep(measures: KeptMeasures): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(measures));
  } catch {}
}
