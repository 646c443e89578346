/** The position of a key in a file; both 1-based. */
export interface FilePosition {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** Why a configuration is refused. `key` is the dotted path; `value` is already masked. */
export type ConfigProblem =
  | {
      readonly code: "unknown-key";
      readonly key: string;
      readonly nearest?: string;
      readonly at?: FilePosition;
    }
  | {
      readonly code: "invalid-value";
      readonly key: string;
      readonly value: string;
      readonly expected: string;
      readonly at?: FilePosition;
      readonly variable?: string;
    }
  | { readonly code: "literal-secret"; readonly key: string; readonly at?: FilePosition }
  | {
      readonly code: "unset-reference";
      readonly key: string;
      readonly variable: string;
      readonly at?: FilePosition;
    }
  | { readonly code: "invalid-yaml"; readonly detail: string; readonly at: FilePosition }
  | { readonly code: "unreadable-file"; readonly detail: string; readonly at: FilePosition }
  /** `models.json`: `detail` is an error code, or the entry that is none. */
  | { readonly code: "unreadable-table"; readonly detail: string; readonly at: FilePosition };

/** A problem worth reporting although the configuration is used. */
export type ConfigWarning =
  | { readonly code: "unknown-variable"; readonly variable: string; readonly nearest?: string }
  | { readonly code: "unusable-variable"; readonly variable: string; readonly key: string }
  | { readonly code: "untrusted-keys"; readonly file: string; readonly keys: readonly string[] }
  | { readonly code: "ignored-key"; readonly key: string; readonly at?: FilePosition }
  | { readonly code: "docker-socket" }
  | { readonly code: "cloud-allowed" };

/** The value of a key that had to be there. */
export const NOTHING = "(nothing)";

const MOST_LISTED = 10;

/** The first problems, a line each, and how many more there are: one mistake in a file can count as thousands. */
export function listProblems(
  messages: {
    readonly configProblem: (problem: ConfigProblem) => string;
    readonly moreProblems: (rest: number) => string;
  },
  problems: readonly ConfigProblem[],
): string[] {
  const lines = problems.slice(0, MOST_LISTED).map(messages.configProblem);
  const rest = problems.length - lines.length;
  return rest > 0 ? [...lines, messages.moreProblems(rest)] : lines;
}

const MOST_IN_FACTS = 100;

/** Problems for a program to read: the first hundred, and how many more there are. */
export function problemFacts(problems: readonly ConfigProblem[]): {
  readonly problems: readonly ConfigProblem[];
  readonly more_problems?: number;
} {
  const rest = problems.length - MOST_IN_FACTS;
  return rest <= 0 ? { problems } : { problems: problems.slice(0, MOST_IN_FACTS), more_problems: rest };
}

/** As editors and terminals understand it; empty where nothing is known. */
export function filePositionText(at: FilePosition | undefined): string {
  if (at === undefined) return "";
  if (at.line === undefined) return `${at.file}: `;
  return `${at.file}:${at.line}${at.column === undefined ? "" : `:${at.column}`}: `;
}
