/** The server's participant API, typed. Answer keys are not part of it: a solution comes only as feedback, after the answer. */
import type { Cell, Port } from "../plugins/blackbox-ports";

export interface Study {
  title: string;
  language: string;
  /** Pages to read before the consent. */
  information_html: string[];
  /** Null where consent is given by other means, such as on paper. */
  consent_html: string | null;
  consent_digest: string | null;
  instructions_html: string[];
  /** Whom to ask and which rights one has. */
  contact_html: string | null;
  device: DeviceNeeds;
  fullscreen: boolean;
  exits: { no_consent: Exit; incompatible_device: Exit };
  /** Published jsPsych plugins by their names: where they are, and the variable that holds each once it is loaded. */
  plugins: Record<string, { address: string; variable: string }>;
  fixation_ms: number;
  /** Why nobody can begin now, in a sentence; who has a session goes on with it all the same. */
  notice: string | null;
}

/** What participants take back to whoever sent them. */
export interface Exit {
  code: string | null;
  url: string | null;
}

/** What a participant's device must have. */
export interface DeviceNeeds {
  phones: boolean;
  keyboard: boolean;
  /** Least size of the window, in CSS pixels. */
  width_px: number | null;
  height_px: number | null;
  refresh_hz: number | null;
}

/** What this device has; nothing that names the browser. */
export interface DeviceFound {
  width_px: number;
  height_px: number;
  screen_width_px: number;
  screen_height_px: number;
  /** Pixels of the screen in one CSS pixel, zoom included. */
  pixel_ratio: number;
  /** The display's frame interval; null if it is not known. */
  frame_ms: number | null;
  touch: boolean;
  phone: boolean;
  /** Whether a key of it was pressed; null if none was asked for. */
  keyboard: boolean | null;
  /** Whether the browser says that a program drives it. */
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

/** An attention check is a question of the test to the browser. */
export type Phase = "practice" | "test";

export type SessionTrial = { trial_index: number; phase: Phase } & (
  | { task: "multiple_choice"; content: MultipleChoiceContent }
  | { task: "blackbox_predict"; content: BlackboxContent }
  | { task: "jspsych"; content: JsPsychContent }
);

/** A question about the person, which may be left unanswered. */
export interface Question {
  name: string;
  ask: string;
  answer: "number" | "choice" | "text";
  /** The options of a choice. */
  options: string[];
  /** Least and greatest number. */
  low: number;
  high: number;
}

export type PersonAnswers = Record<string, number | string | null>;

export interface Completion {
  completion_code: string;
  /** With this code, the answers can be deleted later; old sessions have none. */
  withdrawal_code: string | null;
  exit: Exit;
  /** Empty if there is none. */
  debrief_html: string;
  contact_html: string | null;
}

/** Why somebody cannot go on with a session, in a sentence, and where to go. */
export interface Ended {
  message: string;
  exit: Exit;
  /** As of a completed session. */
  withdrawal_code: string | null;
  contact_html: string | null;
}

export type Session = {
  /** Name of the session; every answer carries it, so that none can get into another session. */
  session: string;
  kind: SessionKind;
  /** How often the session has been opened, this time included. */
  visit: number;
  fixation_ms: number;
  /** Time from onset before which no answer is taken. */
  reading_ms: number;
  /** Time from onset after which a question of the test passes unanswered. */
  deadline_ms: number | null;
  /** Whether a trial that was on the screen when the page was closed is shown again or passed over. */
  interrupted_trial: "repeat" | "skip";
  /** The questions about the person that are still to be asked. */
  demographics: Question[];
  breaks: { every: number; page_html: string | null } | null;
  /** The practice trials come that many times over in `trials`. */
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

/** What is recorded of a trial's timing; all times in milliseconds of one clock. */
export interface TrialTiming {
  /** From stimulus onset to the input event; null if there was none in time. */
  rt_ms: number | null;
  /** For how long the fixation was really shown. */
  fixation_ms: number;
  /** For how many frames of the display the fixation was shown. */
  fixation_frames: number;
  /** How many frames it should have been. */
  fixation_frames_intended: number;
  /** The display's frame interval, as measured. */
  frame_ms: number;
  /** Frames missed during the fixation. */
  frames_dropped: number;
  /** Stimulus onset, ISO 8601, UTC. */
  shown_at: string;
  onset_source: OnsetSource;
  /** How often the page lost focus or was hidden during the trial. */
  focus_lost: number;
}

/** Of a published plugin's trial, its data. */
export type Answer = number | string | Record<string, unknown>;

/** What an answer was made with. */
export type Input = "key" | "mouse" | "touch" | "pen";

/** What happened beside the answer between a trial's begin and its answer; only what did happen. */
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

/** What a trial of ours records. */
export interface TrialData<A extends Answer = Answer> extends TrialTiming {
  /** Null if there is none. */
  response: A | null;
  /** Why there is no answer: the deadline passed. */
  missing: "deadline" | null;
  input: Input | null;
  signals: Signals | null;
}

interface TrialResponseHead {
  /** Made here once for each answer, so that a retry never makes a second row. */
  response_id: string;
  trial_index: number;
  /** How often the trial has been begun, this time included. */
  attempt: number;
  visit: number;
}

/** A trial that was on the screen when the page was closed, and that the study passes over. */
export interface InterruptedTrial extends TrialResponseHead {
  response: null;
  missing: "interrupted";
}

export interface AnsweredTrial extends TrialResponseHead, TrialData {
  /** What jsPsych itself notes of a trial. */
  jspsych: { trial_type: string; plugin_version: string | null; time_elapsed_ms: number };
}

export type TrialResponse = AnsweredTrial | InterruptedTrial;

export interface BlackboxSolution {
  outcome: "absorbed" | "reflected" | Port;
  path: Cell[];
}

export interface Feedback<Solution = unknown> {
  correct: boolean;
  message: string;
  solution: Solution;
  /** After the last trial of a round of practice, if enough must be right before the questions begin. */
  practice?: Practice;
}

export interface Practice {
  passed: boolean;
  /** Right answers in this round, and how many are needed. */
  correct: number;
  needed: number;
  /** The first trial of the next round, or of the test. */
  next_trial_index: number;
  /** Set if the study ends here. */
  ended: Ended | null;
}

export interface StoredResponse {
  response_id: string;
  /** After a practice trial, what was right; otherwise null. */
  feedback: Feedback | null;
}

/** The server said no, in a sentence of its own. */
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

/** The study does not take this person, or no longer; the message tells them why. */
export class NoEntry extends Error {}

/** Whether the same request may succeed later: no connection, a time-out, or a server that is busy or down. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof NoEntry) return false;
  return !(error instanceof ApiError) || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Whether the session is not, or no longer, this browser's: it was opened again elsewhere. */
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
  // Not our server's words, but those of something in between. It is no reason to give an answer up.
  return new ApiError(502, `The server answered ${reply.status}.`, retryAfter_s);
}

/** A request for a session. That there is none to be had is no error of the page: it is what it has to say. */
async function entering(path: string, body: object, headers: HeaderFields = {}): Promise<Session> {
  try {
    return await request<Session>("POST", path, body, headers);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 409)) throw new NoEntry(error.message);
    throw error;
  }
}

/** What begins a session. */
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

  /** The session of this browser, or null when it has none. */
  findSession: async (): Promise<Session | null> => {
    try {
      return await api.session();
    } catch (error) {
      if (isElsewhere(error)) return null;
      throw error;
    }
  },

  /**
   * Begins a session. A person whom the study knows gets the one that they began, perhaps in another browser. A simulated
   * session needs the researcher's token.
   */
  startSession: (start: Start, researcherToken: string | null) =>
    entering("/api/session", start, researcherToken === null ? {} : { Authorization: `Bearer ${researcherToken}` }),

  /**
   * Says that the session was opened again, and gets what becomes of it: perhaps another session, from the beginning. The
   * same `visit_id` again, after a lost reply, is no second opening.
   */
  visit: (visit_id: string, device: DeviceFound | null) => entering("/api/visit", { visit_id, device }),

  /** Stores the answers to the questions about the person; a second time, nothing happens. */
  demographics: (session: string, answers: PersonAnswers) => request<object>("POST", "/api/demographics", { session, answers }),

  /** Stores answers to the next trials of a session, all of them or none. */
  respond: (session: string, responses: TrialResponse[]) =>
    request<{ responses: StoredResponse[] }>("POST", "/api/responses", { session, responses }),

  complete: () => request<Completion>("POST", "/api/complete", {}),

  withdraw: () => request<object>("POST", "/api/withdraw", {}),
};
