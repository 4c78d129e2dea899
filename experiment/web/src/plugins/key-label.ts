import { say } from "../pages/texts";

const SIGNS: Record<string, string> = { left: "←", right: "→", up: "↑", down: "↓" };

/** Returns the label of a response key on the screen, such as "F", "←" or the word for the space key. */
export function keyLabel(key: string): string {
  return SIGNS[key] ?? (key === "space" ? say("key_space") : key.toUpperCase());
}
