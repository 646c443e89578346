/** What a project's root holds, as far as it tells how the project is checked. */
export interface ProjectFiles {
  /** Names in the root folder. */
  readonly names: readonly string[];
  /** Texts of the few files that were read. */
  readonly texts: Readonly<Record<string, string>>;
  /** Names in `node_modules/.bin`; left out where nobody looked. */
  readonly programs?: readonly string[];
}

export interface ProjectCheck {
  readonly kind: "test" | "lint";
  /** As people type it, and as they are told. */
  readonly command: string;
  /** What is run: the command, asked to name every test where the tool can. */
  readonly line: string;
  /** A folder of dependencies, or a program of them, that is not there, so that the check cannot run here. That is not red. */
  readonly missing?: string;
}
