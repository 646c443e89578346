import { isJsonObject } from "../platform/json-members.ts";
import { type JsonText, parseJsonText } from "../platform/json-text.ts";
import { isSecretField } from "../platform/secret-name.ts";

/**
 * Edits that are found by matching, in one intermediate form for three formats.
 *
 * All text in here is *bytes as a latin1 string* (one char per byte, see `bytes-text.ts`), so that every
 * byte of a file that an edit does not touch survives in any encoding. Paths are ordinary strings.
 */
export type Edit =
  | { readonly kind: "diff"; readonly files: readonly DiffFile[] }
  | { readonly kind: "v4a"; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "search-replace"; readonly path: string; readonly hunk: Hunk };

export interface HunkLine {
  readonly tag: " " | "-" | "+";
  /** Without its line end. */
  readonly text: string;
  /** "\n", "\r\n", or "" for a line that is the last of its file and has no line end ("\ No newline…"). */
  readonly eol: string;
}

export interface Hunk {
  readonly lines: readonly HunkLine[];
  /** The same lines as one text, where each is its tag, its text and its line end; absent where they are not. */
  readonly written?: string | undefined;
  /** 1-based line the hunk claims to start at in the old file; only breaks ties. */
  readonly oldStart?: number | undefined;
  readonly newStart?: number | undefined;
  /** V4A `@@ class X` anchors, outermost first, or the text after `@@ -1,2 +1,2 @@` in a diff. */
  readonly anchors?: readonly string[] | undefined;
  /** V4A `*** End of File`. */
  readonly atEnd?: boolean | undefined;
}

/** A binary change without `forward` is git's "Binary files differ": it names a change but does not carry it. */
export type DiffFile =
  | (DiffPaths & { readonly change: "text"; readonly hunks: readonly Hunk[] })
  | (DiffPaths & {
      readonly change: "binary";
      readonly forward?: BinaryPatch;
      readonly reverse?: BinaryPatch;
    });

/** Paths are workspace-relative, unquoted, without `a/` and `b/`. `null` is /dev/null. */
export interface DiffPaths {
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly operation: "create" | "delete" | "modify" | "rename" | "copy";
  /** A plain diff whose only hunk has no old lines: creates the file where it is missing. */
  readonly mayCreate?: boolean;
  /** The other reading of `oldPath` where `-p1` was a guess; used only when `oldPath` is missing and this exists. */
  readonly alternatePath?: string;
  readonly oldMode?: number;
  readonly newMode?: number;
  readonly oldBlob?: string;
  readonly newBlob?: string;
}

export interface BinaryPatch {
  readonly method: "literal" | "delta";
  /** Size after inflating. */
  readonly size: number;
  /** Still deflated. */
  readonly data: Uint8Array;
}

/** The entries that a planner looks at: the paths of `editPaths` and their parent folders, no symlink followed. */
export interface FileSource {
  look(path: string): FileEntry;
}
export type FileEntry =
  | { readonly kind: "missing" }
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "directory" }
  | { readonly kind: "other" };

/** Deletions come first. A write replaces the entry at its path, never follows a symlink, and makes missing parents. */
export type FileWrite =
  /** `mode` is the exact permission bits; absent: an existing file keeps its own, a new one gets the default. */
  | { readonly kind: "write"; readonly path: string; readonly bytes: Uint8Array; readonly mode?: number }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  /** `pruneParents`: parent folders that become empty are removed, too (git's rule for diffs). */
  | { readonly kind: "delete"; readonly path: string; readonly pruneParents?: boolean };

export type MatchStrategy = "exact" | "whitespace" | "look-alike" | "indent" | "drift";

export interface MatchCandidate {
  /** 1-based. */
  readonly line: number;
  /** The current lines there, readable (not latin1), cut to a few. */
  readonly text: string;
  /** The line with which the text begins, 1-based, where it does not begin with `line`. */
  readonly from?: number;
  /** The first line that is not as the hunk has it; absent where the hunk is one line, or all are alike. */
  readonly differs?: { readonly line: number; readonly expected: string };
  /** 0…1; 1 where the hunk matches there and only its place is ambiguous. */
  readonly similarity: number;
}

export interface HunkReport {
  readonly path: string;
  /** 1-based position of the hunk within its file's edit; 0 when the file as a whole is meant. */
  readonly hunk: number;
  readonly status: "applied" | "already-applied" | "not-found" | "ambiguous" | "refused";
  /** Which rung of the ladder matched. */
  readonly strategy?: MatchStrategy;
  /** 1-based line of the file before the edit where it was applied. */
  readonly line?: number;
  /** Where it might have been meant. */
  readonly candidates?: readonly MatchCandidate[];
  readonly message?: string;
}

export type EditPlan =
  | { readonly ok: true; readonly writes: readonly FileWrite[]; readonly reports: readonly HunkReport[] }
  | { readonly ok: false; readonly error: string; readonly reports: readonly HunkReport[] };

/** How a path was before this message and before each of its attempts, null for no file; empty if the message did not change it. */
export type EarlierStates = (path: string) => readonly (Uint8Array | null)[];

/** Whether a path that is missing now was there earlier in this message, and was not always missing. */
export function isDeletedByOwn(path: string, earlier: EarlierStates | undefined): boolean {
  return earlier?.(path).some((state) => state !== null) ?? false;
}

/**
 * One command of a patch, immutable. `type` and `action` are the words of the patch; a command other than
 * `file_edit` (create, update, delete, append, rename, mkdir, copy), `shell_command` (run) and `git_operation`
 * (add, commit, reset, checkout) parses, and fails as a command when it is run.
 * `target` is a path (file_edit), a shell line (shell_command) or git's argument (git_operation);
 * `content` is file text, a destination path, further shell text or a commit message.
 */
export interface PatchCommand {
  readonly type: string;
  readonly action: string;
  readonly target: string;
  readonly content: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly shell?: string;
  /** Set when the command changes files by matching (a diff, a V4A operation, a SEARCH/REPLACE block). */
  readonly edit?: Edit;
}

/** Why a text is not a patch. Nothing ran; exit code 2. */
export interface ParseFailure {
  readonly code:
    | "not-a-patch"
    | "invalid-json"
    | "invalid-command"
    | "invalid-diff"
    | "invalid-v4a"
    | "invalid-block"
    | "too-large";
  /** English and technical: `command[2]: target is required`. */
  readonly message: string;
  /** 0-based command index, when one is to blame. */
  readonly index?: number;
  readonly field?: string;
  readonly value?: string;
  /** 1-based line of the patch text. */
  readonly line?: number;
  /** Only of a coder's answer: its readable commands, and each block that is not, in the order of the text. */
  readonly items?: readonly PatchItem[];
}

export type PatchItem = PatchCommand | UnreadBlock;

/** A block that is meant as a part of a patch, and that cannot be read. */
export interface UnreadBlock {
  readonly unread: string;
  readonly path?: string;
  /** 1-based line on which it opens. */
  readonly line: number;
  /** The line that is not as the format wants it. */
  readonly wrong?: { readonly line: number; readonly text: string };
}

export type ParseResult = ParsedPatch | { readonly ok: false; readonly failure: ParseFailure };

export interface ParsedPatch {
  readonly ok: true;
  readonly commands: readonly PatchCommand[];
  readonly warnings: readonly string[];
  readonly format: PatchFormat;
  /** Only of a coder's answer: its parts that look like a part of the patch, and that no command carries out. */
  readonly skipped?: readonly SkippedPart[];
}

/** `text`: the first line, cut. `why`: English and technical. */
export interface SkippedPart {
  readonly line: number;
  readonly text: string;
  readonly why: string;
}

/** The name of an embedded format, or one of these. `mixed` is a reply that holds more than one of the others. */
export type PatchFormat = "empty" | "json" | "markdown" | "mixed" | (string & {});

/** The planned actions of a patch, counted by kind. A command of an unknown type counts in the total only. */
export function executionSummary(commands: readonly PatchCommand[]) {
  let fileEdits = 0;
  let shellCommands = 0;
  let gitOperations = 0;
  for (const { type } of commands) {
    if (type === "file_edit") fileEdits++;
    else if (type === "shell_command") shellCommands++;
    else if (type === "git_operation") gitOperations++;
  }
  return { totalCommands: commands.length, fileEdits, shellCommands, gitOperations };
}

/** A hunk that knows its place in the patch; its lines are read when a plan first asks for them. */
export abstract class UnreadHunk {
  private kept: readonly HunkLine[] | undefined;

  get lines(): readonly HunkLine[] {
    this.kept ??= this.read();
    return this.kept;
  }

  protected abstract read(): readonly HunkLine[];
}

export type JsonMeaning =
  | { readonly kind: "commands"; readonly items: readonly unknown[] }
  /** A coder's whole answer, `{plan, patch, risk, …}`: the patch is in there as text. */
  | { readonly kind: "proposal"; readonly patch: string }
  | { readonly kind: "other" };

/** In prose or among other blocks: only what names a command's fields counts. */
export function jsonMeaning(value: unknown): JsonMeaning {
  if (Array.isArray(value)) {
    const [first] = value;
    return value.length === 0 || isCommandLike(first)
      ? { kind: "commands", items: value }
      : { kind: "other" };
  }
  if (!isJsonObject(value)) return { kind: "other" };
  if (!isCommandLike(value) && Object.hasOwn(value, "patch")) {
    if (typeof value.patch === "string") return { kind: "proposal", patch: value.patch };
    if (Array.isArray(value.patch)) return { kind: "commands", items: value.patch };
  }
  return isCommandLike(value) ? { kind: "commands", items: [value] } : { kind: "other" };
}

function isCommandLike(value: unknown): boolean {
  return isJsonObject(value) && (Object.hasOwn(value, "type") || Object.hasOwn(value, "action"));
}

export interface JsonCommands {
  readonly commands: readonly PatchCommand[];
  readonly warnings: readonly string[];
}

/** `firstIndex` is how many commands precede these in the patch, so that messages count over the whole. */
export function readCommands(
  items: readonly unknown[],
  firstIndex: number,
): ({ readonly ok: true } & JsonCommands) | { readonly ok: false; readonly failure: ParseFailure } {
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  for (const item of items) {
    const index = firstIndex + commands.length;
    const read = readCommand(item, index);
    if (!read.ok) return read;
    commands.push(read.command);
    if (read.ignored.length > 0)
      warnings.push(
        `command[${index}]: unknown key ignored: ${read.ignored.slice(0, 10).join(", ").slice(0, 200)}`,
      );
  }
  return { ok: true, commands, warnings };
}

/** The failure for text that is not JSON from offset `at` on. */
export function jsonFailure(text: string, at: number, reason: string): ParseFailure {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let end = text.indexOf("\n"); end !== -1 && end < at; end = text.indexOf("\n", end + 1)) line++;
  const column = at - (at === 0 ? 0 : lineStart) + 1;
  return {
    code: "invalid-json",
    message: `JSON parse error: ${reason} at line ${line}, column ${column}`,
    line,
  };
}

type CommandRead =
  | { readonly ok: true; readonly command: PatchCommand; readonly ignored: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const COMMAND_FIELDS = new Set("type action target content metadata env workdir shell".split(" "));

/** `type` and `action` may name things that do not exist: those fail when run. `null` counts as absent; unknown keys are `ignored`. */
function readCommand(value: unknown, index: number): CommandRead {
  if (!isJsonObject(value))
    return refuseCommand(
      index,
      undefined,
      value,
      `command[${index}]: must be an object, got ${describeValue(value)}`,
    );
  const own = (field: string): unknown =>
    Object.hasOwn(value, field) ? (value[field] ?? undefined) : undefined;

  for (const field of ["type", "action", "target", "content", "workdir", "shell"]) {
    const found = own(field);
    if (found !== undefined && typeof found !== "string")
      return refuseCommand(
        index,
        field,
        found,
        `command[${index}]: ${field} must be a string, got ${describeValue(found)}`,
      );
  }
  const text = (field: string): string => (own(field) as string | undefined) ?? "";
  const type = text("type");
  const action = text("action");
  const target = text("target");
  if (type === "") return requiredField(index, "type");
  if (action === "") return requiredField(index, "action");
  if (target === "" && !(type === "git_operation" && action === "commit"))
    return requiredField(index, "target");

  const metadata = readStrings(own("metadata"), index, "metadata");
  if (!metadata.ok) return metadata;
  const env = readStrings(own("env"), index, "env");
  if (!env.ok) return env;

  return {
    ok: true,
    command: {
      type,
      action,
      target,
      content: text("content"),
      ...(metadata.strings && { metadata: metadata.strings }),
      ...(env.strings && { env: env.strings }),
      ...(text("workdir") !== "" && { workdir: text("workdir") }),
      ...(text("shell") !== "" && { shell: text("shell") }),
    },
    ignored: Object.keys(value).filter((key) => !COMMAND_FIELDS.has(key)),
  };
}

type StringsRead =
  | { readonly ok: true; readonly strings: Readonly<Record<string, string>> | undefined }
  | { readonly ok: false; readonly failure: ParseFailure };

function readStrings(value: unknown, index: number, field: string): StringsRead {
  if (value === undefined) return { ok: true, strings: undefined };
  if (!isJsonObject(value))
    return refuseCommand(
      index,
      field,
      value,
      `command[${index}]: ${field} must be an object, got ${describeValue(value)}`,
    );
  const strings: [string, string][] = [];
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== "string") {
      const name = `${field}.${key}`;
      return refuseCommand(
        index,
        name,
        entry,
        `command[${index}]: ${name} must be a string, got ${describeValue(entry)}`,
      );
    }
    strings.push([key, entry]);
  }
  // fromEntries defines own properties, so a key named __proto__ stays a key.
  return { ok: true, strings: Object.fromEntries(strings) };
}

function requiredField(index: number, field: string): { ok: false; failure: ParseFailure } {
  return {
    ok: false,
    failure: { code: "invalid-command", message: `command[${index}]: ${field} is required`, index, field },
  };
}

function refuseCommand(index: number, field: string | undefined, value: unknown, message: string) {
  const failure: ParseFailure = {
    code: "invalid-command",
    message,
    index,
    ...(field !== undefined && { field }),
    value: preview(value),
  };
  return { ok: false, failure } as const;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `${typeof value} ${preview(value)}`;
}

/** Short, and safe for a value nested a million deep: containers are not printed. */
function preview(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (Array.isArray(value)) return "[…]";
  return typeof value === "object" && value !== null ? "{…}" : String(value);
}

/** Characters. Far more than a model writes, and still parsed in memory. */
export const LONGEST_PATCH = 64 * 1024 * 1024;

/** The result of reading a patch as JSON. */
export interface JsonTry {
  /** The text without its byte order mark. */
  readonly text: string;
  /** Set when the text is JSON commands from end to end, or nothing but white space. */
  readonly result?: ParseResult;
  /** Set if the text begins like JSON but is not such a patch. */
  readonly json?: JsonText;
}

/** Apart from `parsePatch`, which continues with any other text, so that a job of JSON commands loads no other format. */
export function tryJsonPatch(source: string): JsonTry {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  if (text.length > LONGEST_PATCH) return { text };
  const first = firstCharacter(text);
  if (first === undefined) return { text, result: { ok: true, commands: [], warnings: [], format: "empty" } };
  if (first !== "[" && first !== "{") return { text };
  const json = parseJsonText(text);
  if (!json.ok) return { text, json };
  // Every array is read as commands, so that its mistakes are named.
  const meaning = Array.isArray(json.value)
    ? { kind: "commands" as const, items: json.value }
    : jsonMeaning(json.value);
  if (meaning.kind !== "commands") return { text, json };
  const read = readCommands(meaning.items, 0);
  return { text, result: read.ok ? { ...read, format: "json" } : read };
}

function firstCharacter(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char.trim() !== "") return char;
  }
  return undefined;
}

/** A command as it may be shown and written down: without secrets, and without the parsed edit. */
export function maskCommand(command: PatchCommand, mask: (text: string) => string): PatchCommand {
  const { edit: _, ...plain } = command;
  return {
    ...plain,
    target: mask(command.target),
    content: mask(command.content),
    ...(command.env !== undefined && { env: maskValues(command.env, mask) }),
    ...(command.metadata !== undefined && { metadata: maskValues(command.metadata, mask) }),
  };
}

function maskValues(values: Readonly<Record<string, string>>, mask: (text: string) => string) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value !== "" && isSecretField(name) ? "****" : mask(value),
    ]),
  );
}
