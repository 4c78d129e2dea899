import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { html, nameByHeading } from "../pages/dom";
import { type Illustration, illustration } from "../pages/illustrations";
import { serverHtml } from "../pages/server-html";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { untilShownFor } from "../timing/fixation";

const info = {
  name: "page",
  version: "1.0.0",
  parameters: {
    /** The pages to read, as safe HTML (the server's sanitised Markdown). */
    pages: { type: ParameterType.HTML_STRING, array: true, default: undefined },
    /** The buttons of the last page, each with its element id and its label. The first button is the main button. */
    buttons: {
      type: ParameterType.COMPLEX,
      array: true,
      default: [{ id: "page-next", label: say("continue") }],
      nested: {
        /** Element id of the button, recorded when the participant presses the button. */
        id: { type: ParameterType.STRING, default: undefined },
        /** Label of the button. */
        label: { type: ParameterType.STRING, default: undefined },
      },
    },
    /** Time after which a single page closes by itself, without buttons; null if the participant continues. */
    closes_after_ms: { type: ParameterType.FLOAT, default: null },
    /** The display's frame interval. */
    frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
    /** The drawing above the first page, or null. */
    drawing: { type: ParameterType.STRING, default: null },
  },
  data: {
    /** The id of the button that ended the pages. */
    button: { type: ParameterType.STRING },
    /** Time that the participant spent on the pages, in ms. */
    duration_ms: { type: ParameterType.FLOAT },
  },
} as const;

type Info = typeof info;
type Trial = TrialType<Info>;
interface Button {
  id: string;
  label: string;
}

export interface PageData {
  button: string;
  duration_ms: number;
}

/** One or more pages to read, such as consent or instructions, with the buttons Back and Next. Enter presses the button of
 * the last page if that page has only one button.
 */
export default class PagePlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<PageData> {
    const { pages } = trial;
    const closes_after_ms = trial.closes_after_ms ?? null;
    const lastButtons = closes_after_ms === null ? (trial.buttons as Button[]) : [];
    const keyboard = this.jsPsych.getDisplayContainerElement();
    const start_ms = performance.now();

    return new Promise((resolve) => {
      let current = 0;

      const press = (id: string) => {
        if (current < pages.length - 1 || id === "page-back") return show(current + (id === "page-back" ? -1 : 1));
        keyboard.removeEventListener("keydown", onKey);
        resolve({ button: id, duration_ms: performance.now() - start_ms });
      };

      const onKey = (event: KeyboardEvent) => {
        const onControl = (event.target as Element).closest("button, a, summary");
        if (event.key !== "Enter" || event.repeat || onControl || document.querySelector("dialog[open]")) return;
        if (current < pages.length - 1) press("page-next");
        else if (lastButtons.length === 1) press(lastButtons[0]!.id);
      };

      const show = (page: number) => {
        current = page;
        const last = page === pages.length - 1;
        const buttons = last ? [...lastButtons] : [{ id: "page-next", label: say("next") }];
        const row = html("div", { class: "buttons", lang: TEXTS_LANGUAGE }, ...buttons.map(({ id, label }, index) => button(id, label, index === 0)));
        if (page > 0) row.append(button("page-back", say("back"), false));
        const drawing = page === 0 && trial.drawing ? [illustration(trial.drawing as Illustration)] : [];
        const article = html("article", { class: "page", tabindex: -1 }, ...drawing, serverHtml(pages[page]!), row);
        if (pages.length > 1) row.append(html("span", { class: "hint" }, say("page_of", { page: page + 1, pages: pages.length })));
        nameByHeading(article);
        display.replaceChildren(article);
        window.scrollTo(0, 0);
        article.focus({ preventScroll: true });
      };

      const button = (id: string, label: string, main: boolean) => {
        const element = html("button", { id, type: "button", class: main ? "primary" : "secondary" }, label);
        element.addEventListener("click", ({ detail }) => detail > 1 || press(id)); // a double click turns one page
        return element;
      };

      keyboard.addEventListener("keydown", onKey);
      show(0);
      on_load();
      const page = display.querySelector("article")!;
      if (closes_after_ms !== null) void untilShownFor(page, closes_after_ms, trial.frame_ms ?? 1000 / 60).then(() => press(""));
    });
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<PageData> },
    on_load: () => void = () => {},
  ): Promise<PageData> {
    const lastButtons = trial.buttons as Button[];
    const data: PageData = this.jsPsych.pluginAPI.mergeSimulationData(
      { button: lastButtons[0]!.id, duration_ms: this.jsPsych.randomization.sampleExGaussian(500, 50, 1 / 150, true) },
      simulation_options,
    );
    if (simulation_mode === "data-only") {
      on_load();
      return data;
    }
    const display = this.jsPsych.getDisplayElement();
    const read = this.trial(display, trial, on_load);
    for (let page = 1; page <= trial.pages.length; page++) {
      await new Promise((resolve) => setTimeout(resolve, data.duration_ms));
      const id = page < trial.pages.length ? "page-next" : data.button;
      this.jsPsych.pluginAPI.clickTarget(display.querySelector(`#${id}`)!);
    }
    return read;
  }
}
