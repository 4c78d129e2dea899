/** References to the parameters of a published plugin's trial.
 *
 * Many plugins repeat parameters in their data, such as a picture as `stimulus`. The server has the parameters, because
 * they belong to the item. So the client sends a reference instead of the repetition.
 */

/** Shorter values are sent unchanged. A participant can choose a short text, such as a label, that is a parameter too. */
const LONG_CHARACTERS = 1_000;

/** Field in which jsPsych's plugins record what the participant did. It is never changed. */
const RESPONSE = "response";

/** Replaces long values that are equal to a parameter, or to a part of a parameter, with
 * `{ same_as_parameter: "/stimulus" }`. The text is the parameter's path, a JSON Pointer (RFC 6901).
 */
export function withReferences(data: Record<string, unknown>, parameters: Record<string, unknown>): Record<string, unknown> {
  const paths = new Map<string, string>();
  for (const [name, value] of Object.entries(parameters)) collectPaths(value, `/${escaped(name)}`, paths);
  if (paths.size === 0) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, name === RESPONSE ? value : referring(value, paths)]));
}

/** Adds the path of each long part of a value, by the part's JSON. */
function collectPaths(value: unknown, path: string, paths: Map<string, string>): void {
  const json = JSON.stringify(value) as string | undefined; // a function has no JSON
  if (json === undefined || json.length < LONG_CHARACTERS) return;
  if (!paths.has(json)) paths.set(json, path);
  if (typeof value !== "object") return;
  for (const [name, part] of Object.entries(value as object)) collectPaths(part, `${path}/${escaped(name)}`, paths);
}

function referring(value: unknown, paths: Map<string, string>): unknown {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined || json.length < LONG_CHARACTERS) return value;
  const path = paths.get(json);
  if (path !== undefined) return { same_as_parameter: path };
  if (Array.isArray(value)) return value.map((part) => referring(part, paths));
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, referring(part, paths)]));
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
