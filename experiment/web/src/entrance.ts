/** The information and the consent. Before the participant agrees, there is no session, the browser sends no data about
 * its device, and the server stores nothing about the participant. The consent text comes from the study's file
 * `timeline.consent`.
 */
import { calibrate } from "./pages/calibration";
import { html } from "./pages/dom";
import { deviceFound } from "./pages/device-check";
import { showWaiting } from "./pages/notices";
import { say, TEXTS_LANGUAGE } from "./pages/texts";
import PagePlugin, { type PageData } from "./plugins/page";
import { api, type Session, type SessionKind, type Study } from "./saving/server-api";
import { uuid4 } from "./saving/uuid";
import type { Timeline } from "./session-timeline";

interface EntranceOptions {
  kind: SessionKind;
  /** The researcher's token, which the server requires for a simulated session; null for a participant. */
  researcherToken: string | null;
  /** Returns the element that shows the waiting message. */
  container: () => HTMLElement;
  /** Sends a request to the server, and repeats the request until the server replies. */
  reach: <T>(request: () => Promise<T>) => Promise<T>;
  /** Called if the participant does not agree. */
  onDeclined: () => void;
  /** Receives the session that starts once the participant agrees. */
  onStarted: (session: Session) => Promise<void>;
}

/** Shows the information and then the consent. A participant who began the study in another browser resumes instead. After the participant agrees, starts a session with the digest of the
 * consent text on the screen. A study without a consent file starts the session after the information.
 */
export function entrance(study: Study, options: EntranceOptions): Timeline[number] {
  const { title, information_html, consent_html, consent_digest } = study;
  const { kind, researcherToken, container, reach, onDeclined, onStarted } = options;
  const resume_only = study.begun_before && kind === "human";
  const pages = resume_only ? [begunBefore(title)] : [...information_html, ...(consent_html === null ? [] : [consent_html])];
  const start_id = uuid4();
  return {
    type: PagePlugin,
    drawing: "consent",
    pages: pages.length > 0 ? pages : [html("h1", {}, title).outerHTML],
    buttons: resume_only
      ? [{ id: "continue-here", label: say("continue_here") }]
      : consent_html === null
        ? [{ id: "page-next", label: say("begin") }]
        : [
            { id: "consent-agree", label: say("agree") },
            { id: "consent-decline", label: say("decline") },
          ],
    on_finish: async ({ button }: PageData) => {
      if (button === "consent-decline") return onDeclined();
      if (kind === "human") await calibrate(container(), study.device);
      showWaiting(container(), say("connecting"));
      const start = { start_id, consent_digest, kind, device: await deviceFound(), resume_only };
      await onStarted(await reach(() => api.startSession(start, researcherToken)));
    },
  };
}

/** The page for a participant who began the study in another browser. The page shows nothing of the session: another person
 * may have opened the link. A click is necessary, because programs that check links also open them.
 */
function begunBefore(title: string): string {
  return html("div", {}, html("h1", {}, title), html("p", { lang: TEXTS_LANGUAGE }, say("begun_before"))).outerHTML;
}
