/** The parts of a stimulus on the screen: texts, pictures, sounds and videos. */
import { html } from "../pages/dom";
import { serverHtml } from "../pages/server-html";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { ImagePart, Part, SoundPart, VideoPart } from "../saving/server-api";
import { assets } from "./asset-loader";

/** The parts of one stimulus, built before their onset. */
export interface StimulusParts {
  elements: HTMLElement[];
  /** Resolves when pictures are decoded and sounds can begin at once. A part that cannot be decoded does not delay a trial. */
  ready: Promise<void>;
  /** Begins the sounds and videos. Called in the frame with the onset. */
  start(): void;
  /** Ends the sounds and videos. */
  stop(): void;
}

/** One part on the screen. */
export interface BuiltPart {
  element: HTMLElement;
  ready?: Promise<unknown>;
  start?: () => void;
  stop?: () => void;
}

export function stimulusParts(parts: Part[]): StimulusParts {
  return asOne(parts.map(build));
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
    start: () => built.forEach(({ start }) => start?.()),
    stop: () => built.forEach(({ stop }) => stop?.()),
  };
}

function build(part: Part): BuiltPart {
  switch (part.kind) {
    case "text":
      return { element: serverHtml(part.html) };
    case "image":
      return picture(part);
    case "sound":
      return sound(part);
    case "video":
      return video(part);
  }
}

/** Makes a picture. It is decoded before the onset, so that it appears within one frame. */
export function picture({ src, alt, width_px, height_px }: ImagePart): BuiltPart {
  const element = html("img", { class: "picture", alt, width: width_px, height: height_px, decoding: "sync", draggable: "false" });
  const { address, release } = addressOf(src);
  element.src = address;
  return { element, ready: element.decode(), stop: release };
}

let context: AudioContext | null = null;

/** Makes a sound, which the Web Audio clock plays. Shows a button only if the browser does not let the page begin the sound. */
function sound({ src, alt }: SoundPart): BuiltPart {
  context ??= new AudioContext({ latencyHint: "interactive" });
  const audio = context;
  let buffer: AudioBuffer | null = null;
  let source: AudioBufferSourceNode | null = null;
  const bytes = assets.blob(src)?.arrayBuffer() ?? fetch(src).then((reply) => reply.arrayBuffer());
  const ready = Promise.resolve(bytes)
    .then((data) => audio.decodeAudioData(data))
    .then((decoded) => (buffer = decoded));
  const play = () => {
    source?.stop();
    source = new AudioBufferSourceNode(audio, { buffer });
    source.connect(audio.destination);
    source.start();
  };
  const button = html("button", { type: "button", class: "play-sound", hidden: true, lang: TEXTS_LANGUAGE }, say("play_sound"));
  button.addEventListener("click", () => {
    button.hidden = true;
    void audio.resume().then(play);
  });
  void audio.resume();
  return {
    element: html("div", { class: "sound" }, html("span", { class: "visually-hidden" }, alt), button),
    ready,
    start: () => {
      if (audio.state === "running") play();
      else button.hidden = false;
    },
    stop: () => source?.stop(),
  };
}

function video({ src, alt }: VideoPart): BuiltPart {
  const { address, release } = addressOf(src);
  const element = html("video", { class: "picture", "aria-label": alt, playsinline: true, preload: "auto", disablepictureinpicture: true });
  const ready = new Promise<void>((resolve, reject) => {
    element.addEventListener("canplaythrough", () => resolve(), { once: true });
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

/** Returns an address under which the loaded file needs no further request. */
function addressOf(src: string): { address: string; release: () => void } {
  const blob = assets.blob(src);
  if (blob === null) return { address: src, release: () => {} };
  const address = URL.createObjectURL(blob);
  return { address, release: () => URL.revokeObjectURL(address) };
}
