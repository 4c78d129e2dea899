/** A session as a jsPsych timeline: questions about the participant, the full screen, instructions, and trials with breaks.
 * A participant who resumes gets a welcome page instead of the instructions.
 */
import type { JsPsych } from "jspsych";
import { type ActionTiming, api, type BlackboxAction, type Ended, type GivenConfidence, type JsPsychContent, type KeypressContent, type MultipleChoiceContent, type Part, type ResponseValue, type Session, type SessionTrial, type Study, type TrialData } from "./saving/server-api";
import { begunTrial, forgetBegun } from "./saving/trial-attempts";
import { SessionProgress, isPractice } from "./session-progress";
import { assets } from "./assets/asset-loader";
import { ParameterFiles } from "./assets/parameter-files";
import { openSoundOutput } from "./assets/sound-output";
import { html } from "./pages/dom";
import { type ForeignPlugin, ForeignTrial, withFixation } from "./plugins/published-plugins";
import BlackboxPlayPlugin from "./plugins/blackbox-play";
import BlackboxPredictPlugin from "./plugins/blackbox-predict";
import ConfidencePlugin from "./plugins/confidence";
import DemographicsPlugin, { type DemographicsData } from "./plugins/demographics";
import FeedbackAgainPlugin from "./plugins/feedback-again";
import FreeTextPlugin from "./plugins/free-text";
import KeypressPlugin from "./plugins/keypress";
import LoadingPlugin from "./plugins/loading";
import MultipleChoicePlugin from "./plugins/multiple-choice";
import NumberPlugin from "./plugins/number";
import PagePlugin from "./plugins/page";
import RankingPlugin from "./plugins/ranking";
import RatingPlugin from "./plugins/rating";
import RecallPlugin from "./plugins/recall";
import type { TrialPlugin } from "./plugins/trial-plugin";
import type { TrialFeedback, TrialParameters } from "./run-trial";
import { ActionSender } from "./saving/action-sender";
import type { Outbox, SaveStatus } from "./saving/outbox";
import type { StudyBar } from "./pages/study-bar";
import { say, TEXTS_LANGUAGE, type TextName } from "./pages/texts";
import { usesTouch } from "./timing/input-hints";
import type { FrameMeter } from "./timing/frame-meter";
import { timeLimit } from "./timing/time-hints";
import { TrialRecord, withNote } from "./saving/trial-record";
import { uuid4 } from "./saving/uuid";

export type Timeline = Extract<Parameters<JsPsych["run"]>[0], unknown[]>;
type TimelinePart = Timeline[number];

/** Opens the full screen at the end of a page. Browsers allow the full screen only during a click or a key press. */
const GOING_FULLSCREEN = {
  buttons: [{ id: "fullscreen-go", label: say("fullscreen_go") }],
  on_finish: enterFullscreen,
};

/** The parts of the page that a session uses. */
export interface Surroundings {
  jsPsych: JsPsych;
  bar: StudyBar;
  outbox: Outbox;
  frames: FrameMeter;
  /** The study's published plugins, by name. */
  plugins: Map<string, ForeignPlugin>;
  /** Sends a request to the server, and repeats the request until the server replies. */
  reach: <T>(request: () => Promise<T>) => Promise<T>;
  /** Called if the study ends before the participant has answered all questions. */
  onEnded: (ended: Ended) => void;
  /** Called if a picture or a sound cannot be loaded. */
  onFailure: (error: unknown) => void;
}

export function sessionTimeline(study: Study, session: Session, surroundings: Surroundings): Timeline {
  forgetBegun(session.session);
  const progress = new SessionProgress(session);
  surroundings.bar.offerRules(study.rules_html);
  const hasSkipped = skipInterrupted(session, progress, surroundings.outbox);
  const fullscreen = study.fullscreen && canGoFullscreen();
  const isNew = progress.next_trial_index === 0;
  const toCome = session.trials.slice(progress.next_trial_index);
  assets.begin(new Map(toCome.map((trial) => [trial.trial_index, addressesOf(trial)])));
  if (toCome.some(hasSound)) openSoundOutput();
  return [
    ...demographics(session, surroundings),
    ...(isNew && fullscreen ? [fullscreenPage()] : []),
    ...(isNew ? instructions(study, session) : welcomeBack(session, progress, hasSkipped, fullscreen)),
    ...feedbackAgain(session, progress, surroundings),
    ...toCome.map((trial) => step(trial, session, progress, surroundings)),
  ];
}

/** Shows the feedback on the last practice trial again, if the participant left the page before the next trial began. */
function feedbackAgain(session: Session, progress: SessionProgress, { bar, jsPsych, frames }: Surroundings): Timeline {
  const begun = begunTrial(session.session);
  const trial = begun?.answered && session.trials[begun.trial_index];
  const isLatest = begun && trial && isPractice(trial) && begun.trial_index < progress.next_trial_index;
  if (!isLatest || session.kind === "simulated") return [];
  const { response, feedback } = begun.answered!;
  progress.practice = feedback.practice ?? null;
  const shown = withNote(feedback, progress);
  if (trial.task === "jspsych") return [feedbackPage(() => shown, session, frames)];
  const unlimited = { reading_ms: 0, deadline_ms: null }; // the feedback has no time limit
  const plugin = new PLUGINS[trial.task](jsPsych) as TrialPlugin<ResponseValue, TrialParameters>;
  const stimulus = (keyboard: HTMLElement) => plugin.stimulus({ ...trial.content, ...unlimited } as unknown as TrialParameters, keyboard);
  const { feedback_ms } = session;
  const frame_ms = () => frames.used_ms;
  return [{ type: FeedbackAgainPlugin, stimulus, response, feedback: shown, feedback_ms, frame_ms, on_load: () => bar.showTrial(progress.position(trial)) }];
}

/** Returns a page with the feedback on a trial of a published plugin. */
function feedbackPage(feedback: () => TrialFeedback, { feedback_ms }: Session, frames: FrameMeter): TimelinePart {
  const page = () => {
    const { message, note } = feedback();
    const words = [message, ...(note ? [note] : [])];
    return [html("div", {}, ...words.map((sentence) => html("p", { lang: TEXTS_LANGUAGE }, sentence))).outerHTML];
  };
  const buttons = [{ id: "feedback-continue", label: say("continue") }];
  return { type: PagePlugin, pages: page, buttons, closes_after_ms: feedback_ms, frame_ms: () => frames.used_ms };
}

/** Skips the interrupted trial if the study asks for it. A practice trial is always repeated. Returns true if a trial was
 * skipped.
 */
function skipInterrupted({ session, visit, interrupted_trial }: Session, progress: SessionProgress, outbox: Outbox): boolean {
  const begun = begunTrial(session);
  const { trial } = progress;
  if (!begun || begun.trial_index !== trial?.trial_index || interrupted_trial === "repeat" || isPractice(trial)) return false;
  void outbox.add({ response_id: uuid4(), session, visit, ...begun, response: null, missing: "interrupted" });
  progress.advance();
  return true;
}

function demographics({ session, demographics: questions }: Session, { reach }: Surroundings): Timeline {
  if (questions.length === 0) return [];
  const send = async ({ answers }: DemographicsData) => void (await reach(() => api.demographics(session, answers)));
  return [{ type: DemographicsPlugin, questions, on_finish: send }];
}

function fullscreenPage(): TimelinePart {
  return { type: PagePlugin, pages: [ourPage("fullscreen_title", fullscreenExplained())], drawing: "screen", ...GOING_FULLSCREEN };
}

function fullscreenExplained(): string {
  return say(usesTouch() ? "fullscreen_touch" : "fullscreen");
}

function instructions({ instructions_html: pages }: Study, { deadline_ms }: Session): Timeline {
  if (pages.length === 0) return [];
  const withTimeLimit = pages.map((page, index) => (index === pages.length - 1 ? page + timeLimitNote(deadline_ms) : page));
  return [{ type: PagePlugin, pages: withTimeLimit, drawing: "instructions", buttons: [{ id: "page-next", label: say("begin") }] }];
}

function welcomeBack({ deadline_ms }: Session, progress: SessionProgress, hasSkipped: boolean, fullscreen: boolean): Timeline {
  if (!progress.trial) return [];
  const { answered, total } = progress.position();
  const words = [
    say("welcome_back", { answered, total }),
    ...(hasSkipped ? [say("trial_skipped")] : []),
    ...(fullscreen ? [fullscreenExplained()] : []),
  ];
  const page = ourPage("welcome_back_title", ...words) + timeLimitNote(deadline_ms);
  return [{ type: PagePlugin, pages: [page], drawing: "instructions", ...(fullscreen && GOING_FULLSCREEN) }];
}

/** Returns a trial, with a page before it if necessary. If the trial is not the session's next trial, it is skipped. */
function step(trial: SessionTrial, session: Session, progress: SessionProgress, surroundings: Surroundings): TimelinePart {
  // The welcome page or the instructions come before the first trial of a visit. After a failed round of practice, the
  // page before the next round is shown too.
  const isFirstOfVisit = trial === progress.trial && !progress.practice;
  const pages = [...(isFirstOfVisit ? [] : pageBefore(trial, session, progress)), ...blockInstructions(trial, session, isFirstOfVisit)];
  // The participant begins a trial after a page, so there is no interval.
  const intertrial_ms = trial === progress.trial || pages.length > 0 ? 0 : trial.intertrial_ms;
  return {
    timeline: [...pages, loading(trial, surroundings), trialDescription({ ...trial, intertrial_ms }, session, progress, surroundings)],
    conditional_function: () => progress.trial === trial,
  };
}

/** Waits for the pictures and sounds of a trial, if they are not here yet. */
function loading({ trial_index }: SessionTrial, { onFailure }: Surroundings): TimelinePart {
  return {
    timeline: [{ type: LoadingPlugin, trial_index, on_failure: onFailure }],
    conditional_function: () => !assets.isReady(trial_index),
  };
}

/** Returns the pictures, sounds and videos of a trial, with its texts. Published plugins have no parts. */
function partsOf({ content }: SessionTrial): (string | Part)[] {
  const { screens, stimulus, mask, options } = content as Partial<MultipleChoiceContent & KeypressContent>;
  return [...(screens ?? []).flatMap(({ parts }) => parts), ...(stimulus ?? []), ...(mask ?? []), ...(options ?? [])];
}

/** Returns the addresses of the pictures, sounds and videos that a trial shows. */
function addressesOf(trial: SessionTrial): string[] {
  const { files } = trial.content as Partial<JsPsychContent>;
  return files ?? partsOf(trial).flatMap((part) => (typeof part === "object" && "src" in part ? [part.src] : []));
}

function hasSound(trial: SessionTrial): boolean {
  return partsOf(trial).some((part) => typeof part === "object" && part.kind === "sound");
}

function pageBefore(trial: SessionTrial, { breaks }: Session, progress: SessionProgress): Timeline {
  if (isPractice(trial)) return progress.beginsRound(trial) ? [{ type: PagePlugin, pages: () => [practiceAgain(progress)], drawing: "instructions" }] : [];
  if (!breaks?.before.includes(trial.trial_index)) return [];
  const answered = progress.questionsBefore(trial);
  const page = breaks.page_html ?? ourPage("break_title", say("break", { answered, total: progress.questions }));
  const withMinutes = () => {
    progress.beginBreak(); // here, because the minutes include the question that has just ended
    const words = progress.minutesLeft(trial);
    return [page + (words && html("p", { class: "hint", lang: TEXTS_LANGUAGE }, words).outerHTML)];
  };
  return [{ type: PagePlugin, pages: withMinutes, drawing: "break" }];
}

/** Returns the instructions of the block that a trial begins. At the first trial of a visit, the participant can read the
 * instructions of the current block again.
 */
function blockInstructions({ trial_index }: SessionTrial, { blocks }: Session, isFirstOfVisit: boolean): Timeline {
  const block = isFirstOfVisit
    ? blocks.filter((begun) => begun.trial_index <= trial_index).at(-1)
    : blocks.find((begun) => begun.trial_index === trial_index);
  return block?.instructions_html.length ? [{ type: PagePlugin, pages: block.instructions_html, drawing: "instructions" }] : [];
}

function practiceAgain({ practice }: SessionProgress): string {
  const { correct, needed } = practice!; // a new round exists only after a round that was not passed
  return ourPage("practice_again_title", say("practice_again", { correct, needed }));
}

function trialDescription(trial: SessionTrial, session: Session, progress: SessionProgress, surroundings: Surroundings): TimelinePart {
  const record = new TrialRecord(trial, session, progress, surroundings);
  return trial.task === "jspsych" ? foreignTrial(trial, session, surroundings, record) : ownTrial(trial, session, surroundings, record);
}

type OwnTrial = Exclude<SessionTrial, { task: "jspsych" }>;

const PLUGINS = {
  blackbox_play: BlackboxPlayPlugin,
  blackbox_predict: BlackboxPredictPlugin,
  free_text: FreeTextPlugin,
  keypress: KeypressPlugin,
  multiple_choice: MultipleChoicePlugin,
  number: NumberPlugin,
  ranking: RankingPlugin,
  rating: RatingPlugin,
  recall: RecallPlugin,
} satisfies Record<OwnTrial["task"], unknown>;

type ForeignSessionTrial = Extract<SessionTrial, { task: "jspsych" }>;

function ownTrial(trial: OwnTrial, session: Session, surroundings: Surroundings, record: TrialRecord): TimelinePart {
  const { frames } = surroundings;
  const plugin = PLUGINS[trial.task];
  return {
    type: plugin,
    ...trial.content,
    ...(trial.task === "blackbox_play" && interaction(trial, session, surroundings, record)),
    intertrial_ms: trial.intertrial_ms,
    fixation_ms: session.fixation_ms,
    frame_ms: () => frames.used_ms, // at the beginning of the trial
    reading_ms: session.reading_ms,
    deadline_ms: isPractice(trial) ? null : session.deadline_ms,
    confidence: session.confidence,
    feedback_ms: session.feedback_ms,
    on_load: () => record.begin(),
    on_shown: () => record.remember(),
    on_finish: () => assets.release(trial.trial_index),
    on_response: (data: TrialData) => record.respond(data, plugin.info.name, plugin.info.version),
  };
}

/** Returns the parameters of an interactive trial: the moves before this visit, and the functions for its actions. */
function interaction({ trial_index }: OwnTrial, session: Session, { outbox, bar, onFailure }: Surroundings, record: TrialRecord) {
  const moves = trial_index === session.next_trial_index ? session.moves : [];
  const onStatus = (status: SaveStatus) => bar.showSaveStatus(status);
  const sender = new ActionSender(session, trial_index, moves.length, () => record.attempt, outbox, onStatus);
  return { moves, act: (action: BlackboxAction, timing: ActionTiming) => sender.send(action, timing), on_refusal: onFailure };
}

/** Returns a trial of a published plugin, after our fixation. In practice, a page with the feedback follows. */
function foreignTrial(
  { content, phase, trial_index, intertrial_ms }: ForeignSessionTrial,
  session: Session,
  { jsPsych, plugins, frames }: Surroundings,
  record: TrialRecord,
): TimelinePart {
  const { fixation_ms, confidence } = session;
  const plugin = plugins.get(content.plugin)!;
  let foreign: ForeignTrial;
  let answered: TrialData;
  let plugin_version: string | null;
  let feedback: TrialFeedback | null = null;
  const respond = async (data: TrialData) => {
    feedback = await record.respond(data, plugin.info.name, plugin_version);
  };
  const trial = {
    type: withFixation(plugin),
    ...content.parameters,
    begin: (display: HTMLElement, show: () => unknown) => foreign.begin(display, show),
    on_start: (parameters: Record<string, unknown>) => {
      const files = new ParameterFiles(content.files ?? [], jsPsych);
      for (const name of Object.keys(content.parameters)) parameters[name] = files.shown(parameters[name]);
      foreign = new ForeignTrial({ intertrial_ms, fixation_ms, frame_ms: frames.used_ms, parameters: content.parameters }, files, () => record.remember());
      record.begin();
    },
    on_finish: async (data: Record<string, unknown>) => {
      assets.release(trial_index);
      answered = await foreign.record(data);
      plugin_version = (data["plugin_version"] as string) ?? null;
      if (!confidence) await respond(answered);
    },
  };
  const asking = {
    type: ConfidencePlugin,
    question: confidence,
    frame_ms: () => frames.used_ms,
    on_finish: ({ confidence, confidence_rt_ms }: GivenConfidence) => respond({ ...answered, confidence, confidence_rt_ms }),
  };
  const continuing = feedbackPage(() => feedback!, session, frames);
  const after: Timeline = [
    ...(confidence ? [asking] : []),
    ...(phase === "practice" ? [{ timeline: [continuing], conditional_function: () => feedback !== null }] : []),
  ];
  return after.length > 0 ? { timeline: [trial, ...after] } : trial;
}

function timeLimitNote(deadline_ms: number | null): string {
  return deadline_ms === null ? "" : html("p", { lang: TEXTS_LANGUAGE }, timeLimit(deadline_ms)).outerHTML;
}

function ourPage(title: TextName, ...paragraphs: string[]): string {
  return html(
    "div",
    { lang: TEXTS_LANGUAGE },
    html("h1", {}, say(title)),
    ...paragraphs.map((words) => html("p", {}, words)),
  ).outerHTML;
}

/** True if the browser supports the full screen, and the page does not use the full screen already. */
function canGoFullscreen(): boolean {
  return document.fullscreenEnabled && document.fullscreenElement === null;
}

/** Longest wait for the window's new size. There is no new size if the window already covered the screen. */
const RESIZING_MS = 500;

/** Opens the full screen. The browser allows this only right after a click or a key. The study also runs in a window. */
async function enterFullscreen(): Promise<void> {
  // Firefox resizes the window after it resolves the request. The next trial must not begin before that.
  const resized = new Promise((resolve) => window.addEventListener("resize", resolve, { once: true }));
  const timeOut = () => new Promise((resolve) => setTimeout(resolve, RESIZING_MS));
  await document.documentElement
    .requestFullscreen()
    .then(() => Promise.race([resized, timeOut()]))
    .catch(() => {});
}

/** Leaves the full screen, if the page uses the full screen. */
export function leaveFullscreen(): void {
  if (document.fullscreenElement) void document.exitFullscreen().catch(() => {});
}
