/** Sends the actions of a trial of an interactive task to the server, one after the other, and returns the observations.
 *
 * An action is repeated until the server replies. It has an id, so that the server stores it once.
 */
import type { Outbox, SaveStatus } from "./outbox";
import { retrying } from "./retry";
import { type ActionReply, type ActionTiming, api, ApiError } from "./server-api";
import { uuid4 } from "./uuid";

export class ActionSender {
  /** `n_actions` is the number of actions that the server has already. `attempt` returns the number of the attempt. */
  constructor(
    private session: { session: string; visit: number },
    private trial_index: number,
    private n_actions: number,
    private attempt: () => number,
    private outbox: Outbox,
    private onStatus: (status: SaveStatus) => void,
  ) {}

  /** Sends an action. Call this only after the reply to the action before. */
  async send(action: object, timing: ActionTiming): Promise<ActionReply> {
    const { session, visit } = this.session;
    const { trial_index } = this;
    const sent = { action_id: uuid4(), trial_index, action_index: this.n_actions, action, ...timing, attempt: this.attempt(), visit };
    await this.outbox.drain(); // the server accepts an action only after the responses to all earlier trials
    this.onStatus("saving");
    const onFailure = (error: unknown) => this.onStatus(error instanceof ApiError ? "delayed" : "offline");
    const reply = await retrying(() => api.act(session, sent), onFailure);
    this.onStatus("saved");
    this.n_actions++;
    return reply;
  }
}
