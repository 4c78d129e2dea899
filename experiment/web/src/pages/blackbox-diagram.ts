/** Diagrams of a ray in the study's pages. The server draws the whole ray and lists its steps (page_html.py). This script
 * adds buttons that show one step at a time.
 */
import { html } from "./dom";
import { say, TEXTS_LANGUAGE } from "./texts";

/** Time for which a step is shown while the diagram plays: enough to read a short sentence. */
const STEP_MS = 1_800;

export function makeStepwise(figure: HTMLElement): void {
  const sentences = [...figure.querySelectorAll<HTMLElement>("li[data-step]")];
  const parts = [...figure.querySelectorAll<SVGElement>("svg [data-step]")];
  const caption = figure.querySelector("figcaption")!.textContent!;
  const announcer = html("p", { class: "visually-hidden", role: "status" });
  const play = button(say("diagram_play"), () => (timer ? pause() : start()));
  const total = sentences.length;
  /** The step that is shown. At first the last step, with the whole ray. */
  let current = total - 1;
  let timer = 0;

  function show(step: number): void {
    current = (step + total) % total;
    sentences.forEach((sentence, index) => {
      if (index === current) sentence.setAttribute("aria-current", "step");
      else sentence.removeAttribute("aria-current");
    });
    for (const part of parts) {
      const index = Number(part.dataset.step);
      part.classList.toggle("to-come", index > current);
      part.classList.toggle("now", index === current);
    }
    announcer.textContent = `${say("diagram_step_of", { number: current + 1, total })} ${sentences[current]!.textContent}`;
  }

  function start(): void {
    show(current === total - 1 ? 0 : current + 1);
    play.textContent = say("diagram_pause");
    timer = window.setInterval(() => {
      if (figure.isConnected) show(current + 1);
      if (!figure.isConnected || current === total - 1) pause();
    }, STEP_MS);
  }

  function pause(): void {
    clearInterval(timer);
    timer = 0;
    play.textContent = say("diagram_play");
  }

  function step(by: number): void {
    pause();
    show(current + by);
  }

  const steps = [button(say("diagram_back"), () => step(-1)), button(say("diagram_step"), () => step(1))];
  // A participant who prefers no motion moves the ray by its steps only.
  const controls = matchMedia("(prefers-reduced-motion: reduce)").matches ? steps : [play, ...steps];
  figure.append(html("div", { class: "diagram-controls", role: "group", "aria-label": caption, lang: TEXTS_LANGUAGE }, ...controls, announcer));
}

function button(label: string, onClick: () => void): HTMLButtonElement {
  const element = html("button", { type: "button" }, label);
  element.addEventListener("click", onClick);
  return element;
}
