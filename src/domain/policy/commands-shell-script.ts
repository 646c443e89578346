/**
 * A shell script as far as policy looks at it: every simple command in it, however deep it stands (pipelines, lists,
 * loops, subshells, functions, substitutions, here-documents), each with what it is given.
 */
export interface ShellScript {
  /** In the order in which they are written. */
  readonly commands: readonly ShellCommand[];
  readonly functions: readonly ShellFunction[];
  /** What the shell that runs it would not read the way it was read here. */
  readonly oddities: readonly ShellOddity[];
}

export interface ShellCommand {
  /** As it is written. */
  readonly text: string;
  /** The name and its arguments; none for a bare assignment or redirection. */
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirects: readonly ShellRedirect[];
  readonly input: ShellInput;
  /** The function in whose body it stands. */
  readonly inFunction: string | null;
}

export interface ShellWord {
  readonly text: string;
  /** What it stands for; null when that is known only when it runs: a variable, a pattern, a substitution. */
  readonly value: string | null;
}

export interface ShellAssignment {
  readonly name: string;
  readonly value: ShellWord;
}

export interface ShellRedirect {
  readonly operator: string;
  readonly target: ShellWord;
}

/** Where standard input comes from, as far as the script says. */
export type ShellInput =
  | { readonly kind: "inherited" }
  /** Indices of the commands that write into the pipe. */
  | { readonly kind: "pipe"; readonly from: readonly number[] }
  | { readonly kind: "file" }
  /** A here-document or here-string; null when it holds what is known only when it runs. */
  | { readonly kind: "document"; readonly text: string | null };

export interface ShellFunction {
  readonly name: string;
  /** Whether it is defined whatever happens, so that its name cannot mean a program. */
  readonly always: boolean;
}

export interface ShellOddity {
  readonly text: string;
  readonly kind: "bash-only" | "evaluates-data";
}

/** `sh` is what runs a command in an environment; `bash` what stands inside `bash -c`. */
export type ShellDialect = "sh" | "bash";

export type ShellParse =
  | { readonly ok: true; readonly script: ShellScript }
  | {
      readonly ok: false;
      readonly code: "syntax" | "too-large" | "too-complex";
      /** What the parser says, in English, or which limit it was. */
      readonly message: string;
      readonly at: number;
    };

/** Never throws and ends in bounded time, whatever the text. */
export type ParseShell = (text: string, dialect: ShellDialect) => ShellParse;
