import type { ConfigProblem } from "../../domain/config/config-problem.ts";
import type { Choice } from "../../domain/setup/choice.ts";
import type { Found } from "../../domain/setup/found.ts";
import type { Locale } from "../../domain/texts/locale.ts";

/** The first configuration: what there is, whether it works, and the file. */
export type OpenedSetUp =
  | ({ readonly ok: true; readonly locale: Locale; readonly file: string; readonly found: Found } & SetUp)
  | { readonly ok: false; readonly locale: Locale; readonly problems: readonly ConfigProblem[] };

export interface SetUp {
  /** Whether something stands at the file's place already. */
  exists(): boolean;
  /** Sends each chosen model one short message, as the file of this choice would. Nothing is left behind. */
  test(choice: Choice, signal: AbortSignal): Promise<TestedChoice>;
  /**
   * Writes the file of this choice. `exists`: there was one, and `replace` was not asked for. A file that is replaced is
   * kept beside the new one.
   */
  write(choice: Choice, options: { readonly replace: boolean }): Written;
}

export type Written =
  | { readonly written: true; readonly kept: string | null }
  | { readonly written: false; readonly why: "exists" };

/** Null: nobody was chosen. */
export interface TestedChoice {
  readonly chat: Tested | null;
  readonly coder: Tested | null;
}

export type Tested =
  | { readonly ok: true; readonly answer: string; readonly ms: number }
  /** `why` is for a person. */
  | { readonly ok: false; readonly why: string };
