import type { DayClock } from "../../domain/chat/session.ts";
import type { JobHistory } from "../coder/job-history.ts";
import type { Logger } from "../ports/logger.ts";
import type { SessionStore } from "../ports/chat.ts";
import type { Summarise } from "./summarise.ts";

export interface Chat {
  readonly channel: string;
  readonly chatId: string;
}

export interface SessionDeps {
  readonly store: SessionStore;
  readonly clock: DayClock;
  readonly now: () => Date;
  readonly summarise: Summarise;
  /** What became of the jobs of a chat's messages, from their journals. */
  readonly jobsOf: (chatKey: string) => Pick<JobHistory, "tell">;
  readonly log: Logger;
  /** Removes secrets before anything is kept. */
  readonly mask: (text: string) => string;
  /** What the turns given to a model may take. */
  readonly historyTokens: number;
  /** What a summary may take. */
  readonly summaryTokens: number;
}
