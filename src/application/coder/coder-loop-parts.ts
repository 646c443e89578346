import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Proposal } from "../../domain/coder/proposal-proposal.ts";
import type { Worded } from "../../domain/texts/worded.ts";
import type { AskedContext } from "./show-asked.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { Bench } from "./coder-bench.ts";
import type { CoderEnding, RedAttempt } from "./coder-end.ts";

export interface CoderLoop {
  /** Asks the coder, with what was said after the request. */
  readonly ask: (exchange: readonly ModelMessage[]) => Promise<CoderAnswer>;
  readonly bench: Bench;
  /** What it asks to see before it writes. */
  readonly show: (files: ProjectFiles, asked: AskedContext) => string;
  readonly limits: {
    readonly attempts: number;
    /** Rounds in which it may ask for files. */
    readonly explore: number;
    readonly onRed: "preview" | "apply" | "discard";
    /** Characters of files that go back with a report. */
    readonly shownChars: number;
  };
  /** It is asked for a plan alone; nothing is carried out. */
  readonly planOnly: boolean;
  /** Keeps what is green as a preview too. */
  readonly preview: boolean;
  /** What the user wrote since it was last asked. */
  readonly steering: () => readonly string[];
  /** Where several coders work on a message: whether this one's draft is taken. Asked, once, when it would end. */
  readonly chosen?: (ending: CoderEnding) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly tell: (event: CoderEvent) => void;
  readonly mask: (text: string) => string;
}

export type CoderAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      /** Whether it was shown that file whole. */
      readonly shown: (path: string) => boolean;
    }
  /** `text` is for the user. */
  | { readonly ok: false; readonly text: Worded };

/** What somebody who watches is told. */
export type CoderEvent =
  /** Paths and searches. */
  | { readonly type: "asks"; readonly wanted: readonly string[] }
  | {
      readonly type: "proposed";
      readonly attempt: number;
      readonly proposal: Proposal;
      readonly commands: readonly PatchCommand[];
    }
  | { readonly type: "doing"; readonly attempt: number; readonly doing: "asking" | "running" | "checking" }
  /** It goes back: what is wrong, in few words. */
  | { readonly type: "sent-back"; readonly attempt: number; readonly of: number; readonly brief: string }
  | { readonly type: "steered"; readonly messages: number };

/** How far a loop is. */
export interface LoopState {
  readonly exchange: ModelMessage[];
  attempts: number;
  explored: number;
  proposal: Proposal | null;
  red: RedAttempt | null;
  /** What went back last, so that the same is not sent twice. */
  mark: string;
  readonly tried: string[];
  readonly asked: Set<string>;
  /** Files that it was warned about. */
  readonly told: Set<string>;
}
