/** The parts of a stimulus on the screen: texts, pictures, sounds and videos. */
import { html } from "../pages/dom";
import { serverHtml } from "../pages/server-html";
import type { ImagePart, Part, PlayedSound, VideoPart } from "../saving/server-api";
import { assets } from "./asset-loader";
import { sound } from "./sound";
import { type Degrees, isPlaced, setPosition, setSize } from "./visual-angle";

/** The parts of one stimulus, built before their onset. */
export interface StimulusParts {
  elements: HTMLElement[];
  /** Resolves when pictures are decoded and sounds can begin at once. A part that cannot be decoded does not delay a trial. */
  ready: Promise<void>;
  /** Prepares sounds for their onset. Called in the frames before the onset, with the time stamp that the frame of the onset
   * will have. Without this call, sounds begin some tens of milliseconds after the onset.
   */
  prepare(frame_ms: number): void;
  /** Begins the sounds and videos. Called in the frame of the onset, with its time stamp. */
  start(frame_ms: number): void;
  /** Ends the sounds and videos. */
  stop(): void;
  /** Returns when the sounds were at the output, relative to the onset. */
  played(onset_ms: number): PlayedSound[];
}

/** One part on the screen. */
export interface BuiltPart {
  element: HTMLElement;
  ready?: Promise<unknown>;
  prepare?: (frame_ms: number) => void;
  start?: (frame_ms: number) => void;
  stop?: () => void;
  played?: (onset_ms: number) => PlayedSound[];
}

/** Builds the parts of a stimulus. If the stimulus `isCentred`, parts without a position are in the middle of the others;
 * otherwise they are above or below the others.
 */
export function stimulusParts(parts: Part[], isCentred = false): StimulusParts {
  const built = parts.map(build);
  const whole = asOne(built);
  const placed = parts.flatMap((part, index) => ("src" in part && isPlaced(part as Degrees) ? [built[index]!.element] : []));
  return placed.length > 0 ? { ...whole, elements: (isCentred ? withCentre : withArea)(whole.elements, placed) } : whole;
}

/** Replaces the parts with a position by an area that contains them, at the place of the first of them. */
function withArea(elements: HTMLElement[], placed: HTMLElement[]): HTMLElement[] {
  const area = html("div", { class: "stimulus-area" });
  const shown = elements.map((element) => (element === placed[0] ? area : element)).filter((element) => !placed.includes(element));
  area.append(...placed);
  return shown;
}

/** Puts all parts into an area, with the parts without a position in its middle. */
function withCentre(elements: HTMLElement[], placed: HTMLElement[]): HTMLElement[] {
  const inLine = elements.filter((element) => !placed.includes(element));
  const middle = inLine.length > 0 ? [html("div", { class: "stimulus-parts" }, ...inLine)] : [];
  return [html("div", { class: "stimulus-area" }, ...middle, ...placed)];
}

/** Joins the parts above a question with other parts that are already in elements, such as the pictures among its options. */
export function together(parts: StimulusParts, ...others: (BuiltPart | StimulusParts)[]): StimulusParts {
  const whole = asOne([parts, ...others]);
  return { ...whole, elements: parts.elements };
}

function asOne(built: (BuiltPart | StimulusParts)[]): StimulusParts {
  return {
    elements: built.flatMap((part) => ("element" in part ? [part.element] : part.elements)),
    ready: Promise.all(built.map(({ ready }) => ready?.catch((error) => console.error(error)))).then(() => {}),
    prepare: (frame_ms) => built.forEach(({ prepare }) => prepare?.(frame_ms)),
    start: (frame_ms) => built.forEach(({ start }) => start?.(frame_ms)),
    stop: () => built.forEach(({ stop }) => stop?.()),
    played: (onset_ms) => built.flatMap(({ played }) => played?.(onset_ms) ?? []),
  };
}

function build(part: Part, position: number): BuiltPart {
  switch (part.kind) {
    case "text":
      return { element: serverHtml(part.html) };
    case "image":
      return picture(part);
    case "sound":
      return sound(part, position);
    case "video":
      return video(part);
  }
}

/** Makes a picture. It is decoded before the onset, so that it appears within one frame. */
export function picture({ src, alt, width_px, height_px, ...degrees }: ImagePart): BuiltPart {
  const element = html("img", { class: "picture", alt, width: width_px, height: height_px, decoding: "sync", draggable: "false" });
  setDegrees(element, degrees);
  const { address, release } = addressOf(src);
  element.src = address;
  return { element, ready: element.decode(), stop: release };
}

function video({ src, alt, ...degrees }: VideoPart): BuiltPart {
  const { address, release } = addressOf(src);
  const element = html("video", { class: "picture", "aria-label": alt, playsinline: true, preload: "auto", disablepictureinpicture: true });
  setDegrees(element, degrees);
  // WebKit never reports `canplaythrough` for a file that is loaded already.
  const playable = src === address ? "canplaythrough" : "canplay";
  const ready = new Promise<void>((resolve, reject) => {
    element.addEventListener(playable, () => resolve(), { once: true });
    element.addEventListener("error", () => reject(element.error), { once: true });
  });
  element.src = address;
  return {
    element,
    ready,
    start: () => {
      // A browser that does not let the page begin the video shows the video's own controls.
      element.play().catch(() => (element.controls = true));
    },
    stop: () => {
      element.pause();
      release();
    },
  };
}

function setDegrees(element: HTMLElement, degrees: Degrees): void {
  setSize(element, degrees);
  if (isPlaced(degrees)) setPosition(element, degrees);
}

/** Returns an address under which the loaded file needs no further request. */
function addressOf(src: string): { address: string; release: () => void } {
  const blob = assets.blob(src);
  if (blob === null) return { address: src, release: () => {} };
  const address = URL.createObjectURL(blob);
  return { address, release: () => URL.revokeObjectURL(address) };
}
