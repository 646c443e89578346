import type { TestResults } from "../test-results.ts";

/** The content of a project's root, as far as it shows how the project is checked. */
export interface ProjectFiles {
  /** Names in the root folder. */
  readonly names: readonly string[];
  readonly texts: Readonly<Record<string, string>>;
  /** Paths in the folders of tests, sources and Python's own programs (`.venv/bin`), as far as they were read. */
  readonly below?: readonly string[];
  /** Names in `node_modules/.bin`; `linked` where a symlink leads to them, which nothing follows here; absent if they were not read. */
  readonly programs?: readonly string[] | "linked";
  /** Whether tests, or modules of the root that they load, import build output; absent if they were not read. */
  readonly loadsBuilt?: boolean;
  /** Whether a program is on the PATH; absent if that is unknown. */
  readonly isOnPath?: (program: string) => boolean;
}

export interface ProjectCheck {
  readonly kind: "test" | "lint";
  /** As people type it and as it is shown. */
  readonly command: string;
  /** The line that is run: the command, asked to name every test where the tool can. */
  readonly line: string;
  /** A folder of dependencies, or a program of them, that is not there, so that the check cannot run here. That is not red. */
  readonly missing?: string;
  /** Parts of the project's own command that lack a program here, and are not run. */
  readonly leftOut?: readonly string[];
  /** The replacements where it cannot validate or names no test; the first that can is used. */
  readonly instead?: readonly CheckRung[];
  /** Where it judges only with what commands of earlier jobs left in the private home. */
  readonly home?: "whole";
  /** The line that the command runs according to the project's files; absent if they do not say. */
  readonly script?: string;
  /** The call of its test runner alone, to which files can be given; absent if it is the line itself or unknown. */
  readonly runner?: string;
}

export interface CheckRung extends Pick<ProjectCheck, "command" | "line"> {
  /** It does less, so that it is worth a try where the whole does not end in time. */
  readonly isShorter?: true;
}

/** A command that checks a project; its line is the command itself where none is named. */
export type FoundCommand = Omit<ProjectCheck, "kind" | "line"> & { readonly line?: string };

/** The results in whole lines of output; null unless the summary of the tool is there and bears out the names. */
export type ResultReader = (lines: readonly string[]) => TestResults | null;

/** A tool that tests or lints projects. Everything that PicoClaw knows about it is in its one entry. */
export interface CheckRunner {
  readonly name: string;
  /** Files of the root whose text `findTest` and `findLint` look at. */
  readonly reads?: readonly string[];
  /** How it tests the project; null where the project is not tested by it. */
  findTest?(files: ProjectFiles): FoundCommand | null;
  findLint?(files: ProjectFiles): FoundCommand | null;
  /** The command that installs what its checks need, as the project's own files say; null where they do not. */
  findInstall?(files: ProjectFiles): string | null;
  /** Programs that its lines can be called by alone. */
  readonly programs?: readonly string[];
  /** Plain calls of it that only look. */
  readonly calls?: readonly RegExp[];
  readonly readers?: readonly ResultReader[];
  readonly testPaths?: readonly RegExp[];
  /** Files that decide how it runs: configuration, set-up files, wrappers. */
  readonly decidedBy?: readonly RegExp[];
  /** Whether a file, where it is new, answers in the place of a module of the runner. */
  readonly shadowedBy?: (path: string) => boolean;
  /** The line with these test files alone; null where the line is not of this runner, or cannot be narrowed. */
  narrow?(line: string, files: readonly string[], texts: ReadonlyMap<string, string>): string | null;
  /** A call of it that runs the same tests, and does less beside them than these settings of its project say; null where it is no such call. */
  cheapen?(line: string, settings: string): string | null;
  /** A call of it that needs less from outside, after this error; it compiles and tests all the same. Null where there is none. */
  retry?(line: string, cause: string): string | null;
}

export function hasName({ names }: ProjectFiles, name: string): boolean {
  return names.includes(name);
}
