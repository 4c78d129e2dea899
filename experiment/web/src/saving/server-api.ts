/** The server's participant API, typed. It contains no answer keys: a solution comes only as feedback, after the
 * response.
 */
import type { Cell, Port } from "../plugins/blackbox-ports";

export interface Study {
  title: string;
  language: string;
  /** Pages to read before the consent. */
  information_html: string[];
  /** Null if consent is given by other means, such as on paper. */
  consent_html: string | null;
  consent_digest: string | null;
  instructions_html: string[];
  /** The contact and the participant's rights. */
  contact_html: string | null;
  device: DeviceNeeds;
  fullscreen: boolean;
  exits: { no_consent: Exit; incompatible_device: Exit };
  /** Published jsPsych plugins by their names: their addresses, and the variable that holds each after loading. */
  plugins: Record<string, { address: string; variable: string }>;
  fixation_ms: number;
  /** Why no session can begin now, in a sentence; a participant with a session can still resume. */
  notice: string | null;
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
}

/** Properties of this device; nothing in it names the browser. */
export interface DeviceFound {
  width_px: number;
  height_px: number;
  screen_width_px: number;
  screen_height_px: number;
  /** Pixels of the screen in one CSS pixel, zoom included. */
  pixel_ratio: number;
  /** The display's frame interval; null if it is unknown. */
  frame_ms: number | null;
  touch: boolean;
  phone: boolean;
  /** True if a key was pressed; null if none was asked for. */
  keyboard: boolean | null;
  /** True if the browser reports that a program controls it. */
  automation: boolean;
}

export interface MultipleChoiceContent {
  /** Paragraphs separated by blank lines; may be empty. */
  text: string;
  prompt: string;
  options: string[];
}

export interface BlackboxContent {
  size: number;
  atoms: Cell[];
  entry: Port;
}

/** A trial of a published jsPsych plugin. */
export interface JsPsychContent {
  plugin: string;
  parameters: Record<string, unknown>;
}

/** For the browser, an attention check is a question of the test. */
export type Phase = "practice" | "test";

export type SessionTrial = { trial_index: number; phase: Phase } & (
  | { task: "multiple_choice"; content: MultipleChoiceContent }
  | { task: "blackbox_predict"; content: BlackboxContent }
  | { task: "jspsych"; content: JsPsychContent }
);

/** A question about the participant, which may be skipped. */
export interface Question {
  name: string;
  ask: string;
  answer: "number" | "choice" | "text";
  /** The options of a choice. */
  options: string[];
  /** Lowest and highest number. */
  low: number;
  high: number;
}

export type PersonAnswers = Record<string, number | string | null>;

export interface Completion {
  completion_code: string;
  /** The participant's code for deleting the responses later; old sessions have none. */
  withdrawal_code: string | null;
  exit: Exit;
  /** Empty if there is none. */
  debrief_html: string;
  contact_html: string | null;
}

/** Why a session cannot be resumed, in a sentence, and the link to follow. */
export interface Ended {
  message: string;
  exit: Exit;
  /** As for a completed session. */
  withdrawal_code: string | null;
  contact_html: string | null;
}

export type Session = {
  /** Name of the session; every response carries it, so that none can get into another session. */
  session: string;
  kind: SessionKind;
  /** Number of the visit, from 1. */
  visit: number;
  fixation_ms: number;
  /** Time from onset before which no response is accepted. */
  reading_ms: number;
  /** Time from onset after which a question of the test passes unanswered. */
  deadline_ms: number | null;
  /** The interrupted trial is shown again, or skipped. */
  interrupted_trial: "repeat" | "skip";
  /** The unanswered questions about the participant. */
  demographics: Question[];
  breaks: { every: number; page_html: string | null } | null;
  /** Number of rounds of the practice trials in `trials`. */
  practice_rounds: number;
  next_trial_index: number;
  trials: SessionTrial[];
} & (
  | { status: "active" | "withdrawn" }
  | ({ status: "completed" } & Completion)
  | ({ status: "ended" } & Ended)
);

export type SessionKind = "human" | "simulated";

/** `presented`: the browser's stamp of the frame on the screen. `painted`: the moment after it was painted. */
export type OnsetSource = "presented" | "painted";

/** Timing of a trial; all times in milliseconds of one clock. */
export interface TrialTiming {
  /** From stimulus onset to the input event; null without a response in time. */
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

/** A response: an option's number, a prediction, or the data of a published plugin's trial. */
export type ResponseValue = number | string | Record<string, unknown>;

/** Input device. */
export type Input = "key" | "mouse" | "touch" | "pen";

/** Events beside the response between a trial's begin and its response; only those that occurred. */
export type Signals = Partial<Record<SignalName, number>>;

export type SignalName =
  | "hidden"
  | "away_ms"
  | "fullscreen_left"
  | "pasted"
  | "copied"
  | "resized"
  | "too_early"
  | "untrusted";

/** Record of a trial of our plugins. */
export interface TrialData<R extends ResponseValue = ResponseValue> extends TrialTiming {
  /** Null if there is none. */
  response: R | null;
  /** Why there is no response: the deadline passed. */
  missing: "deadline" | null;
  input: Input | null;
  signals: Signals | null;
}

interface TrialResponseHead {
  /** Made here once for each response, so that a retry never makes a second row. */
  response_id: string;
  trial_index: number;
  /** Number of the attempt at the trial, from 1. */
  attempt: number;
  visit: number;
}

/** A trial that was interrupted, and that the study skips. */
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
}

export interface Feedback<Solution = unknown> {
  correct: boolean;
  message: string;
  solution: Solution;
  /** After the last trial of a round of practice, if the study has a practice criterion. */
  practice?: Practice;
}

export interface Practice {
  passed: boolean;
  /** Right responses in this round, and the number needed. */
  correct: number;
  needed: number;
  /** The first trial of the next round, or of the test. */
  next_trial_index: number;
  /** Set if the study ends here. */
  ended: Ended | null;
}

export interface StoredResponse {
  response_id: string;
  /** After a practice trial, the right answer; otherwise null. */
  feedback: Feedback | null;
}

/** The server refused, in a sentence of its own. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds to wait before the same request is sent again; 0 if the server does not say. */
    readonly retryAfter_s = 0,
  ) {
    super(message);
  }
}

/** The study does not accept this participant, or no longer; the message says why. */
export class NoEntry extends Error {}

/** True if the same request may succeed later: no connection, a time-out, or a server that is busy or down. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof NoEntry) return false;
  return !(error instanceof ApiError) || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** True if the session is not, or no longer, this browser's: it was opened again elsewhere. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

const TIMEOUT_MS = 20_000;

type HeaderFields = Record<string, string>;

async function request<T>(method: "GET" | "POST", path: string, body?: object, headers: HeaderFields = {}): Promise<T> {
  const reply = await fetch(path, {
    method,
    cache: "no-store",
    keepalive: method === "POST", // lets a response that is under way arrive although the page is closed
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body && { headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw await problemOf(reply);
  return (await reply.json()) as T;
}

async function problemOf(reply: Response): Promise<ApiError> {
  const problem = (await reply.json().catch(() => null)) as { error?: string } | null;
  const retryAfter_s = Number(reply.headers.get("Retry-After")) || 0; // a date, which proxies may send, counts as none
  if (problem?.error) return new ApiError(reply.status, problem.error, retryAfter_s);
  // Not our server's reply, but that of something in between. Do not discard the response.
  return new ApiError(502, `The server answered ${reply.status}.`, retryAfter_s);
}

/** A request for a session. Having none is not an error of the page: it is the reply. */
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
  /** The same id again, after a lost reply, begins no second session. */
  start_id: string;
  consent_digest: string | null;
  kind: SessionKind;
  device: DeviceFound | null;
}

export const api = {
  study: () => request<Study>("GET", "/api/study"),

  session: () => request<Session>("GET", "/api/session"),

  /** The session of this browser, or null if it has none. */
  findSession: async (): Promise<Session | null> => {
    try {
      return await api.session();
    } catch (error) {
      if (isElsewhere(error)) return null;
      throw error;
    }
  },

  /** Begins a session. A known participant gets the one that they began, perhaps in another browser. A simulated
   * session needs the researcher's token.
   */
  startSession: (start: Start, researcherToken: string | null) =>
    entering("/api/session", start, researcherToken === null ? {} : { Authorization: `Bearer ${researcherToken}` }),

  /** Reports that the session was opened again, and returns its state: perhaps another session, from the beginning. The
   * same `visit_id` again, after a lost reply, is not a second visit.
   */
  visit: (visit_id: string, device: DeviceFound | null) => entering("/api/visit", { visit_id, device }),

  /** Stores the answers to the questions about the participant; idempotent. */
  demographics: (session: string, answers: PersonAnswers) => request<object>("POST", "/api/demographics", { session, answers }),

  /** Stores responses to the next trials of a session, all of them or none. */
  respond: (session: string, responses: TrialResponse[]) =>
    request<{ responses: StoredResponse[] }>("POST", "/api/responses", { session, responses }),

  complete: () => request<Completion>("POST", "/api/complete", {}),

  withdraw: () => request<object>("POST", "/api/withdraw", {}),
};
