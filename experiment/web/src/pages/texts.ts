/** The texts that a participant reads and that do not come from the study itself, in the study's language. */
import english from "../../../texts/en.json";

export type TextName = keyof typeof english;

/** The page contains its catalogue; in another jsPsych experiment the texts are English. */
const catalogue = document.getElementById("texts");
const byName: Record<TextName, string> = catalogue ? JSON.parse(catalogue.textContent!) : english;

/** The language of these texts, which may not be the study's; elements that contain only them are marked with it. */
export const TEXTS_LANGUAGE = catalogue?.lang || "en";

/** A text, with its placeholders `{name}` filled. */
export function say(name: TextName, values: Record<string, string | number> = {}): string {
  return byName[name].replace(/\{(\w+)\}/g, (_, place: string) => String(values[place]));
}

/** A text with an element in the place of the placeholder `{name}`. */
export function sayAround(name: TextName, place: string, element: HTMLElement): (string | Node)[] {
  const [before, after] = byName[name].split(`{${place}}`);
  return [before!, element, after ?? ""];
}
