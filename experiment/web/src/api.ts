/** The server's participant API, typed. Answer keys are not part of it: a solution comes only as feedback, after the answer. */
import type { Cell, Port } from "./ports";

export interface Study {
  title: string;
  language: string;
  consent_html: string;
  consent_digest: string;
  instructions_html: string[];
  fixation_ms: number;
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

export type Phase = "practice" | "test" | "attention_check";

export type SessionTrial = { trial_index: number; phase: Phase } & (
  | { task: "multiple_choice"; content: MultipleChoiceContent }
  | { task: "blackbox_predict"; content: BlackboxContent }
);

export interface Completion {
  completion_code: string;
  debrief_html: string;
}

export type Session = {
  /** Name of the session; every answer carries it, so that none can get into another session. */
  session: string;
  kind: SessionKind;
  fixation_ms: number;
  next_trial_index: number;
  trials: SessionTrial[];
} & ({ status: "active" | "withdrawn" } | ({ status: "completed" } & Completion));

export type SessionKind = "human" | "simulated";

/** What is recorded of a trial's timing; all times in milliseconds of one clock. */
export interface TrialTiming {
  /** From stimulus onset to the input event. */
  rt_ms: number;
  /** For how long the fixation was really shown. */
  fixation_ms: number;
  /** For how many frames of the display the fixation was shown. */
  fixation_frames: number;
  /** Frames missed during the fixation. */
  frames_dropped: number;
  /** Stimulus onset, ISO 8601, UTC. */
  shown_at: string;
  /** How often the page lost focus or was hidden during the trial. */
  focus_lost: number;
}

export type Answer = number | string;

export interface TrialResponse extends TrialTiming {
  /** Made here once for each answer, so that a retry never makes a second row. */
  response_id: string;
  session: string;
  trial_index: number;
  response: Answer;
}

export interface BlackboxSolution {
  outcome: "absorbed" | "reflected" | Port;
  path: Cell[];
}

export interface Feedback<Solution = unknown> {
  correct: boolean;
  message: string;
  solution: Solution;
}

/** The server said no, in a sentence of its own. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Whether the same request may succeed later: no connection, a time-out, or a server that is busy or down. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 408 || error.status === 429 || error.status >= 500;
}

const TIMEOUT_MS = 20_000;

async function request<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const reply = await fetch(path, {
    method,
    cache: "no-store",
    keepalive: method === "POST", // lets a response that is under way arrive although the page is closed
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (!reply.ok) {
    const problem = (await reply.json().catch(() => ({}))) as { error?: string };
    throw new ApiError(reply.status, problem.error ?? `The server answered ${reply.status}.`);
  }
  return (await reply.json()) as T;
}

export const api = {
  study: () => request<Study>("GET", "/api/study"),

  /** The session of this browser, or null when it has none. */
  session: async (): Promise<Session | null> => {
    try {
      return await request<Session>("GET", "/api/session");
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },

  /** Begins a session; the same `start_id` again, after a lost reply, begins no second one. */
  startSession: (start_id: string, consent_digest: string, kind: SessionKind) =>
    request<Session>("POST", "/api/session", { start_id, consent_digest, kind }),

  respond: (response: TrialResponse) =>
    request<{ response_id: string; feedback: Feedback | null }>("POST", "/api/responses", response),

  complete: () => request<Completion>("POST", "/api/complete", {}),

  withdraw: () => request<object>("POST", "/api/withdraw", {}),
};
