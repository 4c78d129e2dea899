/** The files that a published plugin's parameters name, for the duration of one trial.
 *
 * The server sends an address for each file. Here the loaded file gets an address in the memory of the page (`blob:`), so
 * that the plugin needs no request. Files are decoded before the plugin asks for them, as with jsPsych's own preloading.
 * The data of the trial get the server's addresses back, because an address in memory means nothing after the session.
 */
import type { JsPsych } from "jspsych";
import { assets } from "./asset-loader";

const SOUND = /\.(wav|mp3|ogg|opus|m4a)$/;
const PICTURE = /\.(png|jpe?g|webp|svg)$/;

export class ParameterFiles {
  /** Resolves when pictures and sounds are decoded. A file that cannot be decoded does not delay the trial. */
  readonly ready: Promise<void>;
  /** Addresses in memory, by the server's addresses. A file that was not loaded before keeps the server's address. */
  private inMemory = new Map<string, string>();
  /** The decoded pictures. The browser keeps a decoded picture only as long as the page uses it. */
  private pictures: HTMLImageElement[] = [];

  constructor(
    files: string[],
    private jsPsych: JsPsych,
  ) {
    const decoded = files.map((file) => {
      const blob = assets.blob(file);
      // Some plugins read the type of a file from its suffix.
      const address = blob ? `${URL.createObjectURL(blob)}#${suffixOf(file)}` : file;
      this.inMemory.set(file, address);
      return this.decode(address, file).catch((error) => console.error(error));
    });
    this.ready = Promise.all(decoded).then(() => {});
  }

  private async decode(address: string, file: string): Promise<void> {
    if (PICTURE.test(file)) {
      const picture = new Image();
      picture.src = address;
      this.pictures.push(picture);
      await picture.decode();
    } else if (SOUND.test(file)) {
      await new Promise<void>((resolve, reject) => this.jsPsych.pluginAPI.preloadAudio([address], resolve, () => {}, reject));
    }
  }

  /** Returns a parameter with addresses in memory. */
  shown<T>(parameter: T): T {
    return withTexts(parameter, (text) => {
      for (const [file, address] of this.inMemory) text = text.replaceAll(file, address);
      return text;
    });
  }

  /** Returns data with the server's addresses. A plugin can cut off the suffix from an address. */
  recorded<T>(data: T): T {
    return withTexts(data, (text) => {
      for (const [file, address] of this.inMemory) text = text.replaceAll(address, file).replaceAll(withoutSuffix(address), file);
      return text;
    });
  }

  /** Frees the memory at the end of the trial. */
  release(): void {
    // jsPsych keeps every sound in a private list until the end of the experiment.
    const { audio_buffers } = this.jsPsych.pluginAPI as unknown as { audio_buffers?: Record<string, unknown> };
    for (const [file, address] of this.inMemory) {
      if (address === file) continue;
      delete audio_buffers?.[address];
      URL.revokeObjectURL(withoutSuffix(address));
    }
    this.pictures = [];
  }
}

function suffixOf(file: string): string {
  return file.slice(file.lastIndexOf("."));
}

function withoutSuffix(address: string): string {
  return address.split("#")[0]!;
}

/** Returns a copy of a value with every text in its lists and plain objects changed. */
function withTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((entry) => withTexts(entry, change)) as T;
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withTexts(entry, change)])) as T;
}
