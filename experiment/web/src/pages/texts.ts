/** The participants' texts that do not come from the study itself, in the study's language. */
import english from "../../../texts/en.json";

export type TextName = keyof typeof english;

/** The server writes the catalogue into the page. In other people's jsPsych experiments the texts are English. */
const catalogue = document.getElementById("texts");
const byName: Record<TextName, string> = catalogue ? JSON.parse(catalogue.textContent!) : english;

/** The language of these texts, which can differ from the study's language. An element that contains only these texts has
 * this language as its `lang`.
 */
export const TEXTS_LANGUAGE = catalogue?.lang || "en";

/** Returns a text with its placeholders `{name}` filled. */
export function say(name: TextName, values: Record<string, string | number> = {}): string {
  return byName[name].replace(/\{(\w+)\}/g, (_, placeholder: string) => String(values[placeholder]));
}

/** Returns a text with an element instead of the placeholder `{name}`. */
export function sayAround(name: TextName, placeholder: string, element: HTMLElement): (string | Node)[] {
  const [before, after] = byName[name].split(`{${placeholder}}`);
  return [before!, element, after ?? ""];
}
