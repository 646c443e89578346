import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import { quoteFileName } from "../../domain/patch/compare-lines.ts";
import { decodeUtf8, isSameFile } from "../../domain/platform/file-bytes.ts";
import type { ToolCall } from "../create-secure-tool.ts";
import type { ResolvedPath } from "../resolved-path.ts";
import { type JobCommand, runJob, toEditOutcome } from "../run-job.ts";
import { type JobFacts, ToolError } from "../tool-result.ts";

export interface NewContent {
  readonly bytes: Uint8Array;
  /** Permission bits, where they change too. */
  readonly mode?: number;
}

/** Text is a plain `update`, readable in the journal; other bytes, or a new mode, are git's binary patch, which has both. */
function replacementCommands(
  path: string,
  before: Uint8Array | null,
  mode: number,
  next: NewContent | "delete",
): readonly JobCommand[] | string {
  if (next === "delete") return [{ type: "file_edit", action: "delete", target: path }];
  const newMode = next.mode ?? mode;
  const text = decodeUtf8(next.bytes);
  if (text !== null && isExecutable(newMode) === isExecutable(mode))
    return [
      { type: "file_edit", action: before === null ? "create" : "update", target: path, content: text },
    ];
  return binaryPatch(path, before, mode, next.bytes, newMode);
}

function isExecutable(mode: number): boolean {
  return (mode & 0o111) !== 0;
}

function binaryPatch(
  path: string,
  before: Uint8Array | null,
  mode: number,
  after: Uint8Array,
  newMode: number,
): string {
  const gitMode = (bits: number) => (isExecutable(bits) ? "100755" : "100644");
  const header = [`diff --git ${quoteFileName(`a/${path}`)} ${quoteFileName(`b/${path}`)}`];
  const changesMode = isExecutable(mode) !== isExecutable(newMode);
  if (before === null) header.push(`new file mode ${gitMode(newMode)}`);
  else if (changesMode) header.push(`old mode ${gitMode(mode)}`, `new mode ${gitMode(newMode)}`);
  const blobs = `${before === null ? "0".repeat(40) : blobOf(before)}..${blobOf(after)}`;
  header.push(
    `index ${blobs}${before === null || changesMode ? "" : ` ${gitMode(mode)}`}`,
    "GIT binary patch",
  );
  return `${header.join("\n")}\n${literal(after)}`;
}

function blobOf(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES = 52;

/** Deflated, in git's base 85: a length letter, then five digits for every four bytes. */
function literal(bytes: Uint8Array): string {
  const data = deflateSync(bytes);
  const lines = [`literal ${bytes.length}`];
  for (let at = 0; at < data.length; at += LINE_BYTES) {
    const chunk = data.subarray(at, at + LINE_BYTES);
    const letter = chunk.length <= 26 ? 64 + chunk.length : 96 + chunk.length - 26;
    let line = String.fromCharCode(letter);
    for (let k = 0; k < chunk.length; k += 4) {
      let value = 0;
      for (let j = 0; j < 4; j++) value = value * 256 + (chunk[k + j] ?? 0);
      let digits = "";
      for (let j = 0; j < 5; j++) {
        digits = ALPHABET.charAt(value % 85) + digits;
        value = Math.floor(value / 85);
      }
      line += digits;
    }
    lines.push(line);
  }
  return `${lines.join("\n")}\n\n`;
}

export interface FileChange {
  readonly tool: string;
  readonly title: string;
  readonly limitBytes?: number;
  /** Given null: there is no file; returned null: it stays as it is. Called again if another program changed the file meanwhile. */
  readonly change: (
    before: Uint8Array | null,
    mode: number,
  ) => NewContent | "delete" | null | Promise<NewContent | "delete" | null>;
}

const ATTEMPTS = 5;

/** Calls of one context take turns. If another process writes the file before the job begins, `change` runs again; later is a conflict. */
export function changeFile(
  call: Pick<ToolCall<unknown>, "context" | "signal">,
  place: ResolvedPath,
  change: FileChange,
): Promise<{ job?: JobFacts; notes: readonly string[] }> {
  checkEditable(place);
  return call.context.gate.run(fileGateKey(place), () => tryChange(call, place, change));
}

/** The path that two jobs must not make at once: the file, or the first of its folders that is missing. */
function fileGateKey({ workspace: { root, files }, path }: ResolvedPath): string {
  const parts = path.split("/");
  for (let depth = 1; depth < parts.length; depth++) {
    const folder = parts.slice(0, depth).join("/");
    if (files.look(folder).kind === "missing") return `${root}/${folder}`;
  }
  return `${root}/${path}`;
}

async function tryChange(
  { context, signal }: Pick<ToolCall<unknown>, "context" | "signal">,
  place: ResolvedPath,
  { tool, title, limitBytes = context.limits.editBytes, change }: FileChange,
) {
  const { workspace, path } = place;
  for (let left = ATTEMPTS; ; left -= 1) {
    const { before, mode } = loadFile(place, limitBytes);
    const next = await change(before, mode);
    if (next === null) return { notes: [] };
    if (next !== "delete" && before !== null) refuseMasked(place, before, next.bytes);
    const stale = new AbortController();
    try {
      return toEditOutcome(
        await runJob(context, workspace, {
          tool,
          title,
          commands: replacementCommands(path, before, mode, next),
          signal: AbortSignal.any([signal, stale.signal]),
          more: {
            onEvent: ({ type }) => {
              if (type === "job_started" && !isSameFile(before, readCurrentBytes(place))) stale.abort();
            },
          },
        }),
      );
    } catch (error) {
      if (!stale.signal.aborted || signal.aborted) throw error;
      if (left <= 1)
        throw new ToolError("CONFLICT", `nothing was written: ${place.given} keeps changing`, {
          cause: error,
        });
    }
  }
}

function loadFile({ workspace: { files }, path, given }: ResolvedPath, limitBytes: number) {
  const entry = files.look(path);
  switch (entry.kind) {
    case "missing":
      return { before: null, mode: 0o644 };
    case "file":
      if (entry.size > limitBytes)
        throw new ToolError(
          "FILE_TOO_LARGE",
          `${given} has ${entry.size} bytes; the limit is ${limitBytes} (edit it with execute_command)`,
        );
      return { before: files.read(path), mode: entry.mode };
    case "directory":
      throw new ToolError("IS_DIRECTORY", `is a directory: ${given}`);
    case "symlink":
    case "other":
      throw new ToolError("NOT_A_FILE", `not a regular file: ${given}`);
  }
}

function readCurrentBytes({ workspace: { files }, path }: ResolvedPath): Uint8Array | null {
  return files.look(path).kind === "file" ? files.read(path) : null;
}

/** Refuses what the job would refuse, before anything is read for it. The job checks again when it writes. */
function checkEditable({ workspace: { protection, files }, path, given }: ResolvedPath): void {
  const masked = /^.*\*{4}[^/]*/.exec(path)?.[0];
  if (masked !== undefined && files.look(masked).kind === "missing")
    throw new ToolError(
      "MASKED_CONTENT",
      `${given}: ${MASK} hides a secret in a name, so it is unknown which file is meant; the user has to change it`,
    );
  const deny = (message: string) =>
    new ToolError("PROTECTED_FILE", message, { status: "denied", reason: "path" });
  const forbidden = protection.forbids(path);
  if (forbidden === "git") throw deny(`git internals cannot be modified: ${given}`);
  if (forbidden === "picoclaw") throw deny(`PicoClaw's own files cannot be modified: ${given}`);
  if (protection.action !== "log" && protection.protects(path) !== null)
    throw deny(`protected file cannot be modified: ${given}`);
}

/** Tool output is masked: a caller may send back `****` in place of a secret, and writing that would destroy it. */
function refuseMasked({ workspace, path }: ResolvedPath, was: Uint8Array, next: Uint8Array): void {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  const [before, after] = [text(was), text(next)];
  if (!after.includes(MASK)) return;
  const shown = workspace.mask(before);
  if (shown === before) return;
  const stars = (lines: string) => new Set(lines.split("\n").filter((line) => line.includes(MASK)));
  const own = stars(before);
  const masked = [...stars(shown)].filter((line) => !own.has(line));
  const line = masked.find((each) => after.split("\n").includes(each));
  if (line === undefined) return;
  throw new ToolError(
    "MASKED_CONTENT",
    `the text has ${MASK} where ${path} has a secret; change the lines around it (text_editor str_replace) and leave that line alone`,
  );
}

const MASK = "****";
