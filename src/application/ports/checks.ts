import type { SourcedCommand, SourceName } from "../../domain/checks/command-sources.ts";
import type { WhyNotChecked } from "../../domain/checks/findings.ts";
import type { CheckResult } from "../../domain/checks/verdict.ts";
import type { ParseShell } from "../../domain/policy/shell-script.ts";
import type { ListedChecks, ProgressFacts } from "../../domain/texts/checks.ts";

/** The stored results of the checks of one workspace. A lost memory costs time, never correctness. */
export interface CheckMemory {
  /** A digest of the workspace but for these files and the folders above them: while it is the same, checks see the same files. */
  fingerprint(except?: readonly string[]): string;
  /** Null where nothing is remembered, or it cannot be read. */
  recall(): CheckRecord | null;
  /** Replaces the remembered results. Never fails: if they cannot be written, nothing is remembered. */
  keep(record: CheckRecord): void;
  /** Baselines that are being measured, by checks and fingerprint: drafts that begin at the same time share one. */
  readonly running: Map<string, Promise<Baseline>>;
  /** The known commands beside the declared checks; absent where nothing of it is kept. */
  readonly commands?: {
    recall(): KnownCommands | null;
    keep(known: KnownCommands): void;
  };
}

/** The parsers of the sources of commands; they are loaded only where a source is asked. */
export interface SourceParsers {
  readonly parseShell: ParseShell;
  readonly parseYaml: (text: string) => unknown;
}

/** A text with commands beside the project's own files: the request, or a line that the coder ran. */
export interface Said {
  readonly name: Extract<SourceName, "request" | "ran">;
  readonly text: string;
}

export interface KnownCommands {
  /** The line that the user chose; it stands alone, as `checks.command` does. */
  readonly use?: string;
  /**
   * The command of another source that judged instead of these lines, why they did not, and its time. `decided`: a checksum of the
   * files that decide how checks run; after a change of one of them it is forgotten.
   */
  readonly works?: SourcedCommand & {
    readonly insteadOf: readonly string[];
    readonly why: WhyNotChecked;
    readonly decided: number;
    readonly seconds: number;
    readonly at: number;
  };
  /** Commands of other sources that ran the last time; `why`: null where it judged. */
  readonly tried: readonly (Pick<SourcedCommand, "command" | "from"> & {
    readonly why: WhyNotChecked | null;
  })[];
}

/** The results of the checks over the unchanged workspace, or why there are none. */
export type Baseline =
  | { readonly ok: true; readonly fingerprint: string; readonly results: readonly CheckResult[] }
  | { readonly ok: false; readonly why: WhyNotChecked };

/** A test file, or a test of Go, that does not end here. */
export interface HungTest {
  readonly file: string;
  /** A checksum of the file and of what it imports, and when that was. */
  readonly seen: number;
  readonly at: number;
}

export interface CheckRecord {
  /** The checks that ran; another list of checks makes the record worthless. */
  readonly lines: readonly string[];
  readonly fingerprint: string;
  /** When, in milliseconds. */
  readonly at: number;
  /** All of them together. Where `wasEnded`, they would have taken longer. */
  readonly durationMs: number;
  readonly wasEnded: boolean;
  /** They were ended because their pace showed that they would take about `durationMs`. */
  readonly isEstimate?: true;
  /** Null where they were ended. */
  readonly results: readonly CheckResult[] | null;
  /** Files that these checks were seen to notice when they are broken. */
  readonly noticed?: readonly string[];
  readonly hung?: readonly HungTest[];
}

export interface CheckProgress extends ProgressFacts {
  readonly attempt: number;
}

/** The facts about a workspace's checks, and the command that the user chose for it. */
export interface KnownChecks {
  read(): Promise<ListedChecks>;
  /** Takes this command as the only check of the workspace; null: none. Returns whether that could be kept. */
  use(command: string | null): boolean;
}
