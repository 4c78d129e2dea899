/** The screens of a trial between its fixation and its question. Each screen replaces the one before within one frame. */
import { stimulusParts, type StimulusParts } from "./assets/stimulus-parts";
import { html } from "./pages/dom";
import { say, TEXTS_LANGUAGE } from "./pages/texts";
import type { SimulatedParticipant } from "./run-trial";
import type { Screen, Shown } from "./saving/server-api";
import { nextFrame } from "./timing/fixation";
import { FramesShown } from "./timing/frames-shown";
import { keyNameOf } from "./timing/response-keys";
import { ResponseWindow } from "./timing/response-window";

/** A screen reader cannot read a shorter screen before it disappears. */
const SHORTEST_ANNOUNCED_MS = 1_000;

/** Announces the screens. It is on the page before its words, because browsers announce changes only. */
let announcer: HTMLElement | null = null;

/** A screen that was built before it is shown. */
export interface BuiltScreen {
  element: HTMLElement;
  media: StimulusParts;
  duration_ms: number | null;
  /** Null if the screen has a duration. */
  button: HTMLButtonElement | null;
}

export function buildScreen({ parts, duration_ms }: Screen): BuiltScreen {
  const media = stimulusParts(parts, true);
  const attributes = { id: "screen-continue", class: "primary", type: "button", lang: TEXTS_LANGUAGE };
  const button = duration_ms === null ? html("button", attributes, say("continue")) : null;
  const element = html(
    "div",
    { id: "screen", class: "screen", translate: "no" },
    html("h1", { class: "visually-hidden", lang: TEXTS_LANGUAGE }, say("screen_title")),
    html("div", { class: "stimulus-parts" }, ...media.elements),
    ...(button ? [button] : []),
  );
  if (!announcer?.isConnected) {
    announcer = html("p", { class: "visually-hidden", role: "status" });
    document.body.append(announcer);
  }
  return { element, media, duration_ms, button };
}

interface Shows {
  display: HTMLElement;
  /** The element that receives keys. */
  keyboard: HTMLElement;
  screens: BuiltScreen[];
  /** What follows the last screen. */
  next: { element: HTMLElement; media?: StimulusParts };
  /** Time stamp of the present frame. The first screen is on the page already. */
  start_ms: number;
  frame_ms: number;
  simulated?: Pick<SimulatedParticipant, "continue"> | undefined;
}

/** Shows the screens, one after another, and then `next`. Resolves in the frame that shows `next`, with the time stamp of
 * this frame; or with null if the experiment was aborted.
 */
export async function showScreens({ display, keyboard, screens, next, start_ms, frame_ms, simulated }: Shows): Promise<{ shown: Shown[]; end_ms: number } | null> {
  const shown: Shown[] = [];
  let stamp_ms = start_ms;
  for (const [index, screen] of screens.entries()) {
    const frames = new FramesShown(stamp_ms, frame_ms, screen.duration_ms);
    const following = screens[index + 1] ?? next;
    screen.media.start(stamp_ms);
    const continued = screen.button && whenContinued(screen.button, keyboard, stamp_ms + frame_ms);
    setTimeout(() => present(screen, simulated)); // after the paint, to keep the frame short
    do {
      stamp_ms = await nextFrame();
      const end_ms = frames.endAfter(stamp_ms);
      if (end_ms !== null) following.media?.prepare(end_ms);
    } while (screen.element.isConnected && !frames.isOver(stamp_ms) && !continued?.isOver());
    screen.media.stop();
    continued?.stop();
    if (!screen.element.isConnected) {
      frames.stop();
      return null;
    }
    display.replaceChildren(following.element);
    if (continued) keyboard.focus({ preventScroll: true }); // the focus was on the removed button
    if (window.scrollY > 0) window.scrollTo(0, 0);
    shown.push(frames.end(stamp_ms));
  }
  return { shown, end_ms: stamp_ms };
}

/** Does what needs no exact time when a screen begins. */
function present({ element, media, button, duration_ms }: BuiltScreen, simulated: Shows["simulated"]): void {
  if (!element.isConnected) return;
  if (duration_ms === null || duration_ms >= SHORTEST_ANNOUNCED_MS) announcer!.textContent = media.elements.map(wordsOf).join(" ");
  if (!button) return;
  button.focus({ preventScroll: true });
  simulated?.continue(button);
}

function wordsOf(part: HTMLElement): string {
  return part.getAttribute("alt") ?? part.getAttribute("aria-label") ?? part.textContent!;
}

/** Waits for the button or the space key. The presses do not reach the question, where they would count as too early. */
function whenContinued(button: HTMLButtonElement, keyboard: HTMLElement, visible_ms: number) {
  const accepted = new ResponseWindow(() => {});
  void accepted.open(visible_ms);
  let isOver = false;
  button.addEventListener("click", (event) => (isOver ||= accepted.takes(event)));
  const onKey = (event: KeyboardEvent) => {
    const isSpace = keyNameOf(event) === "space";
    const control = (event.target as Element).closest("button, video");
    if ((control && control !== button) || !(isSpace || (control && event.key === "Enter"))) return;
    event.stopImmediatePropagation();
    if (!isSpace) return; // Enter clicks the button
    event.preventDefault();
    isOver ||= accepted.takes(event);
  };
  keyboard.addEventListener("keydown", onKey, { signal: accepted.closed, capture: true });
  return { isOver: () => isOver, stop: () => accepted.close() };
}
