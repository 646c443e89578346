import type { ForeignRepository } from "../../domain/platform/git-index.ts";
import type { ModelChoice, SetupFindings } from "../../domain/setup/first-config.ts";
import type { ConfigProblem } from "../../domain/texts/config-problem.ts";
import type { Locale } from "../../domain/texts/locale.ts";

/** The first configuration: the models found, whether they work, and the file. */
export type OpenedSetUp =
  | ({
      readonly ok: true;
      readonly locale: Locale;
      readonly file: string;
      readonly found: SetupFindings;
      /** A repository above the folder that its jobs do not reach. */
      readonly foreign: ForeignRepository | null;
    } & SetUp)
  | { readonly ok: false; readonly locale: Locale; readonly problems: readonly ConfigProblem[] };

export interface SetUp {
  exists(): boolean;
  /** Sends each chosen model one short message, as the file of this choice would. Nothing is left behind. */
  test(choice: ModelChoice, signal: AbortSignal): Promise<ChoiceTestResult>;
  /** `exists`: there was one, and `replace` was not asked for. A file that is replaced is kept beside the new one. */
  write(choice: ModelChoice, options: { readonly replace: boolean }): WriteConfigResult;
}

export type WriteConfigResult =
  | { readonly written: true; readonly kept: string | null }
  | { readonly written: false; readonly why: "exists" };

/** Null: none was chosen. */
export interface ChoiceTestResult {
  readonly chat: ModelTestResult | null;
  readonly coder: ModelTestResult | null;
}

export type ModelTestResult =
  | { readonly ok: true; readonly answer: string; readonly ms: number }
  /** `why` is for a person. */
  | { readonly ok: false; readonly why: string };
