/** The server's participant API, typed. It contains no answer keys: the server sends the right answer only as feedback,
 * after the response.
 */
import type { Degrees } from "../assets/visual-angle";
import type { Cell, Port } from "../plugins/blackbox-ports";

export interface Study {
  title: string;
  language: string;
  /** Pages to read before the consent. */
  information_html: string[];
  /** Null if participants give consent by other means, such as on paper. */
  consent_html: string | null;
  consent_digest: string | null;
  instructions_html: string[];
  /** Pages that participants can open during a trial. */
  rules_html: string[];
  /** The contact and the participant's rights. */
  contact_html: string | null;
  device: DeviceNeeds;
  fullscreen: boolean;
  exits: { no_consent: Exit; incompatible_device: Exit };
  /** Published jsPsych plugins, by name. Each has an address, and a variable that contains the plugin after loading. */
  plugins: Record<string, { address: string; variable: string }>;
  fixation_ms: number;
  /** Sentence that says why no session can begin now. A participant with a session can still resume. */
  notice: string | null;
  /** True if the participant has begun the study in another browser, and has proved it by a personal link or a panel. */
  begun_before: boolean;
  /** False if the browser did not return the cookie of the page. Then no session can continue. */
  returns_cookies: boolean;
}

/** Completion code and redirect URL. */
export interface Exit {
  code: string | null;
  url: string | null;
}

/** Requirements for a participant's device. */
export interface DeviceNeeds {
  phones: boolean;
  keyboard: boolean;
  /** Least size of the window, in CSS pixels. */
  width_px: number | null;
  height_px: number | null;
  refresh_hz: number | null;
  /** True if the participant must prove that they hear sounds. */
  sound: boolean;
  /** True if the participant measures the screen with a card. */
  calibration: boolean;
  distance_cm: number;
}

/** Properties of this device. No property identifies the browser. */
export interface DeviceFound {
  width_px: number;
  height_px: number;
  screen_width_px: number;
  screen_height_px: number;
  /** Screen pixels per CSS pixel, with the browser's zoom. */
  pixel_ratio: number;
  /** The display's frame interval, as measured; null if unknown. */
  frame_ms: number | null;
  /** The frame interval with which durations are counted in frames. */
  frame_used_ms: number | null;
  touch: boolean;
  phone: boolean;
  /** True if the participant pressed the requested key; null if the study requires no keyboard. */
  keyboard: boolean | null;
  /** True if the browser reports that a program controls it. */
  automation: boolean;
  color_scheme: "light" | "dark";
  /** Size of normal text, in CSS pixels. Most browsers have 16. */
  text_px: number;
  /** Smallest step of the browser's clock. */
  clock_ms: number;
  /** True if the page is translated. */
  translated: boolean;
  /** True if the browser can store responses until the server has them. */
  storage: boolean;
  /** True if the participant proved to hear sounds; null if the study requires no sound. */
  sound: boolean | null;
  /** CSS pixels per cm of the screen, as the participant measured them; null if unknown. */
  px_per_cm: number | null;
  /** The viewing distance that the page asked for; null without a calibration. */
  distance_cm: number | null;
}

/** A part of a stimulus. A text is safe HTML (the server's sanitised Markdown). */
export type Part = { kind: "text"; html: string } | ImagePart | SoundPart | VideoPart;

interface FilePart {
  /** Address of the file, which does not contain the file's name. */
  src: string;
  /** The content in words, for participants who cannot see or hear the file. */
  alt: string;
}

export interface ImagePart extends FilePart, Degrees {
  kind: "image";
  width_px: number;
  height_px: number;
}

export interface SoundPart extends FilePart {
  kind: "sound";
  duration_ms: number;
}

export interface VideoPart extends FilePart, Degrees {
  kind: "video";
  duration_ms: number;
}

/** A screen before the question. */
export interface Screen {
  /** The parts in the middle of the screen. A screen without parts is blank. */
  parts: Part[];
  /** Duration; null if the participant ends the screen. */
  duration_ms: number | null;
}

/** Content of all tasks with a stimulus. */
export interface StimulusContent {
  /** The screens before the question, in order; absent if there are none. */
  screens?: Screen[];
  /** The parts above the question; absent if there are none. */
  stimulus?: Part[];
}

/** Content of all tasks with a prompt. */
export interface QuestionContent extends StimulusContent {
  /** True if a wide screen shows the parts beside the question. */
  stimulus_beside?: boolean;
  /** Paragraphs separated by blank lines; may be empty. */
  text: string;
  prompt: string;
}

export interface MultipleChoiceContent extends QuestionContent {
  /** Each option is a text or a picture. */
  options: (string | ImagePart)[];
  /** How many options a participant chooses; absent or null if the participant chooses one. */
  several?: { at_least: number; at_most: number } | null;
  /** The key of each option; absent or empty if the keys are the digits from 1. */
  option_keys?: string[];
}

/** A scale of points. */
export interface Scale {
  low: number;
  high: number;
  /** Distance between points. */
  step: number;
  /** Words for the two ends, or for every point; may be empty. */
  labels: string[];
  shown_as: "buttons" | "slider";
}

export interface RatingContent extends QuestionContent, Scale {}

export type ConfidenceQuestion = Scale & { prompt: string };

export interface RankingContent extends QuestionContent {
  options: string[];
}

export interface NumberContent extends QuestionContent {
  low: number;
  high: number;
  decimals: number;
  /** Shown after the field; may be empty. */
  unit: string;
}

export interface FreeTextContent extends QuestionContent {
  most_characters: number;
  /** Height of the field. */
  lines: number;
}

/** A fast response with a key. */
export interface KeypressContent extends StimulusContent {
  text: string;
  /** May be empty, as the text. */
  prompt: string;
  /** The name of the response of each key, such as {f: "word", j: "nonword"}. */
  keys: Record<string, string>;
  /** The stimulus disappears after this time; null if it stays until the response. */
  stimulus_ms: number | null;
  /** Shown after the stimulus. */
  mask: Part[];
  mask_ms: number | null;
  /** Time after onset for a response; null if the study's deadline applies. */
  window_ms: number | null;
  /** True if no key within `window_ms` is the response `none`. */
  withhold: boolean;
}

export interface RecallContent extends QuestionContent {
  most_entries: number;
}

export interface BlackboxContent {
  size: number;
  atoms: Cell[];
  entry: Port;
}

/** A Black Box with hidden atoms. */
export interface BlackboxPlayContent {
  size: number;
  n_atoms: number;
  /** The most rays that the participant can fire. */
  n_rays: number;
  allow_marks: boolean;
  show_solution: boolean;
}

/** What the participant sees after an action in a Black Box. Empty for a mark, and for a guess without a solution. */
export interface BlackboxObservation {
  outcome?: "absorbed" | "reflected" | Port;
  /** The reason why an action against the rules had no effect. */
  refused?: "port_used" | "no_rays_left" | "marked_already" | "not_marked";
  atoms?: Cell[];
  rays?: BlackboxRay[];
}

export interface BlackboxRay {
  port: Port;
  outcome: "absorbed" | "reflected" | Port;
  path: Cell[];
}

export type BlackboxAction =
  | { action: "fire"; port: Port }
  | { action: "mark" | "unmark"; cell: Cell }
  | { action: "guess"; cells: Cell[] };

/** An action in a trial of an interactive task, and what the participant saw after it. */
export interface Move {
  action: BlackboxAction;
  observation: BlackboxObservation;
}

/** When and how an action was given. */
export interface ActionTiming {
  /** Time from the onset of the stimulus to the action. */
  since_onset_ms: number;
  /** Time from the observation before to the action; from the onset for the first action. */
  rt_ms: number;
  input: Input | null;
}

export interface ActionReply {
  observation: BlackboxObservation;
  /** True if the trial is over. The response is then the number of its actions. */
  is_over: boolean;
}

/** A trial of a published jsPsych plugin. */
export interface JsPsychContent {
  plugin: string;
  parameters: Record<string, unknown>;
  /** Addresses of the files that the parameters name; absent if there are none. */
  files?: string[];
}

/** The server sends an attention check as a test question, so that the browser cannot recognize it. */
export type Phase = "practice" | "test";

/** `intertrial_ms` is the interval between the trial before and this trial; there is none if a page comes before it. */
export type SessionTrial = { trial_index: number; phase: Phase; intertrial_ms: number } & (
  | { task: "multiple_choice"; content: MultipleChoiceContent }
  | { task: "rating"; content: RatingContent }
  | { task: "ranking"; content: RankingContent }
  | { task: "number"; content: NumberContent }
  | { task: "free_text"; content: FreeTextContent }
  | { task: "keypress"; content: KeypressContent }
  | { task: "recall"; content: RecallContent }
  | { task: "blackbox_predict"; content: BlackboxContent }
  | { task: "blackbox_play"; content: BlackboxPlayContent }
  | { task: "jspsych"; content: JsPsychContent }
);

/** A question about the participant, who may skip it. */
export interface Question {
  name: string;
  ask: string;
  answer: "number" | "choice" | "text";
  /** The options of a choice. */
  options: string[];
  /** The lowest valid number; `high` is the highest valid number. */
  low: number;
  high: number;
}

export type PersonAnswers = Record<string, number | string | null>;

export interface Completion {
  completion_code: string;
  /** The participant's code for deleting the responses later; null for sessions from before these codes existed. */
  withdrawal_code: string | null;
  exit: Exit;
  /** Empty if the study has no debriefing. */
  debrief_html: string;
  contact_html: string | null;
}

/** Sentence that says why a session cannot be resumed, and the link back to the panel. */
export interface Ended {
  message: string;
  exit: Exit;
  /** The participant's code for deleting the responses later, as for a completed session. */
  withdrawal_code: string | null;
  contact_html: string | null;
}

export type Session = {
  /** Name of the session. Every response has this name, so that no response can get into another session. */
  session: string;
  kind: SessionKind;
  /** Number of the visit, from 1. */
  visit: number;
  fixation_ms: number;
  /** Time after onset during which no response is accepted. */
  reading_ms: number;
  /** Time after onset at which a test question ends without a response; null for no limit. */
  deadline_ms: number | null;
  /** Time after which feedback closes by itself; null if the participant continues. */
  feedback_ms: number | null;
  /** Show the interrupted trial again, or skip it. */
  interrupted_trial: "repeat" | "skip";
  /** The unanswered questions about the participant. */
  demographics: Question[];
  /** Breaks, before the trials with the indexes in `before`. */
  breaks: { before: number[]; page_html: string | null } | null;
  /** The blocks of test trials in order, each with the index of its first test trial. */
  blocks: { trial_index: number; instructions_html: string[] }[];
  /** The question about confidence, which follows every answer; null if the study does not ask it. */
  confidence: ConfidenceQuestion | null;
  /** Number of rounds of practice that `trials` contains. */
  practice_rounds: number;
  next_trial_index: number;
  /** The moves so far in the next trial, if its task is interactive; otherwise empty. */
  moves: Move[];
  trials: SessionTrial[];
} & (
  | { status: "active" | "withdrawn" }
  | ({ status: "completed" } & Completion)
  | ({ status: "ended" } & Ended)
);

export type SessionKind = "human" | "simulated";

/** `presented`: the browser's time stamp of the frame on the screen. `painted`: the time just after painting the frame. */
export type OnsetSource = "presented" | "painted";

/** Timing of a trial; all times in milliseconds of one clock. */
export interface TrialTiming {
  /** Time from stimulus onset to the input event; null without a response before the deadline. */
  rt_ms: number | null;
  /** Actual duration of the fixation. */
  fixation_ms: number;
  /** Actual duration of the fixation, in frames. */
  fixation_frames: number;
  /** Intended duration of the fixation, in frames. */
  fixation_frames_intended: number;
  /** The display's frame interval, as measured. */
  frame_ms: number;
  /** Frames missed during the fixation. */
  frames_dropped: number;
  /** Stimulus onset, ISO 8601, UTC. */
  shown_at: string;
  onset_source: OnsetSource;
  /** Number of times the page lost focus or was hidden during the trial. */
  focus_lost: number;
}

/** A response: a number, a text such as a prediction, or the data of a published plugin's trial. */
export type ResponseValue = number | string | number[] | string[] | Record<string, unknown>;

/** The actual time for which something was on the screen. */
export interface Shown {
  duration_ms: number;
  /** The frames in which it was visible. In a hidden page nothing is visible. */
  frames: number;
  /** Null if the participant ended the screen. */
  frames_intended: number | null;
}

/** The actual timing of a trial's screens and sounds. */
export interface Presentation {
  /** The blank screen between the trial before and this trial; null if there was none. */
  intertrial: Shown | null;
  screens: Shown[];
  /** The stimulus, if it disappeared before the response. */
  stimulus: Shown | null;
  /** The mask, if it disappeared before the response. */
  mask: Shown | null;
  /** The sounds of the stimulus. */
  sounds: PlayedSound[];
}

/** The confidence in a response. */
export interface GivenConfidence {
  confidence: number;
  /** Time from the question about confidence to its answer. */
  confidence_rt_ms: number;
}

/** Input device. */
export type Input = "key" | "mouse" | "touch" | "pen";

/** Other events between the beginning of a trial and its response. Contains only events that occurred. */
export type Signals = Partial<Record<SignalName, number>>;

export type SignalName =
  | "hidden"
  | "away_ms"
  | "fullscreen_left"
  | "pasted"
  | "copied"
  | "resized"
  | "too_early"
  | "too_fast"
  | "untrusted"
  | "translated"
  | "rules_opened"
  | "rules_ms";

/** The actual onset of a sound. */
export interface PlayedSound {
  /** Position among the parts of the stimulus, from 0. */
  part: number;
  /** Time from stimulus onset until the sound reached the output; null if it never played. */
  onset_ms: number | null;
  /** Delay of the sound output that the browser reports; null if it reports none. */
  latency_ms: number | null;
}

/** Record of a trial of our plugins. */
export interface TrialData<R extends ResponseValue = ResponseValue> extends TrialTiming {
  /** Null if there is no response. */
  response: R | null;
  /** `deadline` if the deadline passed without a response. `too_large` if the server does not accept a response of this
   * size.
   */
  missing: "deadline" | "too_large" | null;
  input: Input | null;
  signals: Signals | null;
  /** Null if the trial has neither an interval before it, nor screens, nor timed parts, nor sounds. */
  presentation: Presentation | null;
  /** The confidence in the response; null if it was not asked. */
  confidence: number | null;
  confidence_rt_ms: number | null;
}

interface TrialResponseHead {
  /** Id that the browser makes once per response, so that a retry never adds a second row. */
  response_id: string;
  trial_index: number;
  /** Number of the attempt at the trial, from 1. */
  attempt: number;
  visit: number;
}

/** An interrupted trial that the study skips. */
export interface InterruptedTrial extends TrialResponseHead {
  response: null;
  missing: "interrupted";
}

export interface FinishedTrial extends TrialResponseHead, TrialData {
  /** jsPsych's own data of a trial. */
  jspsych: { trial_type: string; plugin_version: string | null; time_elapsed_ms: number };
}

export type TrialResponse = FinishedTrial | InterruptedTrial;

export interface BlackboxSolution {
  outcome: "absorbed" | "reflected" | Port;
  path: Cell[];
  /** The atoms that changed the course of the ray, in order. The ray was in cell number `n_cells` of the path, from 1, or
   * at its port if `n_cells` is 0.
   */
  encounters: { atoms: Cell[]; n_cells: number }[];
}

export interface Feedback<Solution = unknown> {
  correct: boolean;
  message: string;
  solution: Solution;
  /** The reasons for the right answer, in order, if there are any. */
  explanation?: string[];
  /** Present after the last trial of a practice round, if the study has a practice criterion. */
  practice?: Practice;
}

export interface Practice {
  passed: boolean;
  /** Number of right responses in this round; `needed` is the required number. */
  correct: number;
  needed: number;
  /** Index of the first trial of the next practice round, or of the test. */
  next_trial_index: number;
  /** The end of the study, if the participant did not pass the practice; otherwise null. */
  ended: Ended | null;
}

export interface StoredResponse {
  response_id: string;
  /** The feedback on a practice trial; otherwise null. */
  feedback: Feedback | null;
}

/** A refusal by the server. The message is the server's sentence. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds to wait before a retry; 0 if the server names no time. */
    readonly retryAfter_s = 0,
  ) {
    super(message);
  }
}

/** The study does not accept this participant, or accepts the participant no longer. The message says why. */
export class NoEntry extends Error {}

/** Another window has continued the trial. The message says so. */
export class ContinuedElsewhere extends Error {}

/** Returns true if a retry can succeed: after a lost connection, a time-out, or a busy or stopped server. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof NoEntry || error instanceof ContinuedElsewhere) return false;
  return !(error instanceof ApiError) || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Returns true if this browser has no session, or another browser or window has opened the session again. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

/** Returns true if the server, or a proxy in front of it, refuses a request because of its size. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.status === 413;
}

const TIMEOUT_MS = 20_000;
/** Slowest line on which the time-out does not end the sending of a large request. The server waits as long. */
const SLOWEST_BYTES_PER_S = 32 * 1024;

/** Largest total size of the bodies of all `keepalive` requests under way. Browsers refuse more than 64 KB. */
const KEEPALIVE_BYTES = 60 * 1024;
let keepaliveUnderWay_bytes = 0;

/** Largest size of a request with responses. The server writes its limit into the page. */
const LARGEST_RESPONSES_BYTES = Number(document.getElementById("jspsych")?.dataset["largestResponsesBytes"] ?? Infinity);

const encoder = new TextEncoder();

/** Returns the size of an object in a request. */
export function sizeOf_bytes(body: object): number {
  return encoder.encode(JSON.stringify(body)).length;
}

type HeaderFields = Record<string, string>;

async function request<T>(method: "GET" | "POST", path: string, body?: object, headers: HeaderFields = {}): Promise<T> {
  const bytes = body ? sizeOf_bytes(body) : 0;
  if (bytes > LARGEST_RESPONSES_BYTES) throw new ApiError(413, ""); // the server would refuse it
  // With `keepalive`, the browser finishes sending a request even if the page is closed.
  const keepalive = method === "POST" && keepaliveUnderWay_bytes + bytes <= KEEPALIVE_BYTES;
  const counted_bytes = keepalive ? bytes : 0;
  keepaliveUnderWay_bytes += counted_bytes;
  try {
    const reply = await fetch(path, {
      method,
      cache: "no-store",
      keepalive,
      signal: AbortSignal.timeout(TIMEOUT_MS + (1_000 * bytes) / SLOWEST_BYTES_PER_S),
      ...(body && { headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw await problemOf(reply);
    return (await reply.json()) as T;
  } finally {
    keepaliveUnderWay_bytes -= counted_bytes;
  }
}

async function problemOf(reply: Response): Promise<ApiError> {
  const problem = (await reply.json().catch(() => null)) as { error?: string } | null;
  const retryAfter_s = Number(reply.headers.get("Retry-After")) || 0; // proxies can send a date, which is ignored
  if (problem?.error || reply.status === 413) return new ApiError(reply.status, problem?.error ?? "", retryAfter_s);
  // The reply comes from a proxy, not from our server. Do not discard the response.
  return new ApiError(502, `The server answered ${reply.status}.`, retryAfter_s);
}

/** Requests a session. If the server refuses the participant, throws `NoEntry`, which is not an error of the page. */
async function entering(path: string, body: object, headers: HeaderFields = {}): Promise<Session> {
  try {
    return await request<Session>("POST", path, body, headers);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 409)) throw new NoEntry(error.message);
    throw error;
  }
}

/** Content of a start request. */
export interface Start {
  /** After a lost reply, a retry with the same id does not begin a second session. */
  start_id: string;
  consent_digest: string | null;
  kind: SessionKind;
  device: DeviceFound | null;
  /** True if the participant saw no consent. The server then begins no new session. */
  resume_only: boolean;
}

export const api = {
  study: () => request<Study>("GET", "/api/study"),

  session: () => request<Session>("GET", "/api/session"),

  /** Returns the session of this browser, or null if the browser has no session. */
  findSession: async (): Promise<Session | null> => {
    try {
      return await api.session();
    } catch (error) {
      if (isElsewhere(error)) return null;
      throw error;
    }
  },

  /** Begins a session. A known participant gets the session that they have begun, even in another browser. A simulated
   * session needs the researcher's token.
   */
  startSession: (start: Start, researcherToken: string | null) =>
    entering("/api/session", start, researcherToken === null ? {} : { Authorization: `Bearer ${researcherToken}` }),

  /** Reports that the participant opened the session again, and returns the session. By the study's rules, the server
   * can return a new session instead of the earlier session. After a lost reply, a retry with the same `visit_id` is not
   * a second visit.
   */
  visit: (visit_id: string, device: DeviceFound | null) => entering("/api/visit", { visit_id, device }),

  /** Stores the answers to the questions about the participant. Idempotent. */
  demographics: (session: string, answers: PersonAnswers) => request<object>("POST", "/api/demographics", { session, answers }),

  /** Stores responses to the next trials of a session. The server stores either all or none of the responses. */
  respond: (session: string, responses: TrialResponse[]) =>
    request<{ responses: StoredResponse[] }>("POST", "/api/responses", { session, responses }),

  /** Stores the next action of the next trial, and returns its observation. Idempotent. */
  act: async (session: string, action: object): Promise<ActionReply> => {
    try {
      return await request<ActionReply>("POST", "/api/action", { session, action });
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) throw new ContinuedElsewhere(error.message);
      throw error;
    }
  },

  complete: () => request<Completion>("POST", "/api/complete", {}),

  withdraw: () => request<object>("POST", "/api/withdraw", {}),
};
