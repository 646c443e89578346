import type { Viewer } from "../../application/serve/viewer.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { ConsoleMessages } from "../../domain/texts/texts.ts";

export type Theme = "auto" | "light" | "dark";

/** Whoever looks at a page, and how they like it. */
export interface PageContext {
  readonly t: ConsoleMessages;
  /** The words of the Worker, for results. */
  readonly words: Messages;
  readonly viewer: Viewer;
  readonly csrf: string;
  readonly theme: Theme;
  readonly demo: boolean;
  /** Path and query, to come back to. */
  readonly here: string;
  readonly timezone: string;
  readonly now: Date;
  readonly style: string;
  readonly script: string;
}

/** What came of the last button. */
export interface Notice {
  readonly ok: boolean;
  readonly text: string;
  /** The job can be taken back by force. */
  readonly offerForce?: boolean;
}
