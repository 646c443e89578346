import type { ToolCall } from "../create-secure-tool.ts";
import type { JobFacts } from "../tool-result.ts";
import type { ResolvedPath } from "../resolved-path.ts";
import { runJob, toEditOutcome } from "../run-job.ts";
import { ToolError } from "../tool-error.ts";
import { type NewContent, replacementCommands } from "./replacement.ts";

export interface FileChange {
  readonly tool: string;
  readonly title: string;
  /** Largest file that is loaded; default: the context's. */
  readonly limitBytes?: number;
  /**
   * The new content for the present one (null: the file does not exist), null to leave it, or "delete". May be asked
   * again when somebody else changed the file in between.
   */
  readonly change: (
    before: Uint8Array | null,
    mode: number,
  ) => NewContent | "delete" | null | Promise<NewContent | "delete" | null>;
}

const ATTEMPTS = 5;

/**
 * Reads, changes and writes one file as a job, so that no change of somebody else is lost: calls of this context
 * take turns; what another process writes between our reading and the begin of the job is seen when the job has
 * begun, and the change is computed anew; what comes later is the transaction's own conflict.
 */
export function changeFile(
  call: Pick<ToolCall<unknown>, "context" | "signal">,
  place: ResolvedPath,
  change: FileChange,
): Promise<{ job?: JobFacts; notes: readonly string[] }> {
  checkEditable(place);
  return call.context.gate.run(fileGateKey(place), () => tryChange(call, place, change));
}

/** What must not be made by two jobs at once: the file, or the first of its folders that is missing. */
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
              if (type === "job_started" && !isSameBytes(before, readCurrentBytes(place))) stale.abort();
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

function isSameBytes(x: Uint8Array | null, y: Uint8Array | null): boolean {
  return x === null || y === null ? x === y : Buffer.from(x).equals(y);
}

function refuseMasked({ workspace, path }: ResolvedPath, before: Uint8Array, after: Uint8Array): void {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  refuseMaskedContent(text(before), text(after), workspace.mask, path);
}

/** Refuses what the job would refuse, before anything is read for it. The job checks again when it writes. */
function checkEditable({ workspace: { protection }, path, given }: ResolvedPath): void {
  const deny = (message: string) =>
    new ToolError("PROTECTED_FILE", message, { status: "denied", reason: "path" });
  const forbidden = protection.forbids(path);
  if (forbidden === "git") throw deny(`git internals cannot be modified: ${given}`);
  if (forbidden === "picoclaw") throw deny(`PicoClaw's own files cannot be modified: ${given}`);
  if (protection.action !== "log" && protection.protects(path) !== null)
    throw deny(`protected file cannot be modified: ${given}`);
}

/**
 * What tools show is masked, so a caller may send back a text in which `****` stands where the file has a secret.
 * Written as it is, it would destroy the secret; so it is refused.
 */
function refuseMaskedContent(
  before: string,
  after: string,
  mask: (text: string) => string,
  path: string,
): void {
  if (!after.includes(MASK)) return;
  const shown = mask(before);
  if (shown === before) return;
  const stars = (text: string) => new Set(text.split("\n").filter((line) => line.includes(MASK)));
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
