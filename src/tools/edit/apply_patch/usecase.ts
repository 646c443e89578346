import type { Entry } from "../../../application/ports/platform-view.ts";
import type { NewContent } from "../change-file.ts";
import { ApplyPatchError } from "./error.ts";
import type { PatchRunDeps, PatchTarget } from "./types.ts";

/** Before any process is started: the target exists, is a file, and is not too large. */
export function checkTarget(entry: Entry, filePath: string, maxBytes: number): void {
  if (entry.kind === "missing") throw new ApplyPatchError("NOT_FOUND", `file not found: ${filePath}`);
  if (entry.kind !== "file") throw new ApplyPatchError("INVALID_ARGUMENT", `not a file: ${filePath}`);
  if (entry.size > maxBytes)
    throw new ApplyPatchError(
      "FILE_TOO_LARGE",
      `file too large: ${filePath} (${entry.size} bytes, limit ${maxBytes})`,
    );
}

/**
 * Hash → `git apply` → hash → verdict. It happens on a private copy of the one file, so that neither the
 * workspace's repository nor one around it has a say, and the workspace changes only by the job that follows.
 * Returns the new content, "delete", or null where the file stays as it is.
 */
export async function applyPatch(
  deps: PatchRunDeps,
  target: PatchTarget,
  patch: string,
): Promise<NewContent | "delete" | null> {
  const { spawn, hasher, openScratch, mask, maxErrorChars } = deps;
  const scratch = openScratch();
  try {
    for (const { path, bytes } of target.attributes) scratch.write(`${WORK}/${path}`, bytes);
    scratch.write(`${WORK}/${target.path}`, target.bytes, target.mode | 0o600);
    for (const [path, text] of EMPTY_REPOSITORY) scratch.write(`${GIT}/${path}`, Buffer.from(text));
    const before = hasher(target.bytes);
    const { exitCode, stderr } = await spawn(
      "git",
      ["apply", "--whitespace=fix", "--include", escapeGlob(target.path), "-"],
      {
        cwd: `${scratch.folder}/${WORK}`,
        env: { GIT_DIR: `${scratch.folder}/${GIT}`, GIT_WORK_TREE: `${scratch.folder}/${WORK}`, LC_ALL: "C" },
        input: patch,
      },
    );
    const result = scratch.read(`${WORK}/${target.path}`);
    const changed = result === null || hasher(result.bytes) !== before;
    if (exitCode !== 0 && !changed)
      throw new ApplyPatchError(
        "APPLY_FAILED",
        `git apply failed with exit code ${exitCode}: ${capText(mask(stderr.trim()), maxErrorChars)}`,
      );
    if (result === null) return "delete";
    const mode = (target.mode & ~0o111) | (result.mode & 0o111);
    const sameBytes = Buffer.from(result.bytes).equals(target.bytes);
    return sameBytes && mode === target.mode ? null : { bytes: result.bytes, mode };
  } finally {
    scratch.remove();
  }
}

const WORK = "work";
const GIT = "git";

/** The least that git takes for a repository; without one it reads no attributes. No filter program is ever run. */
const EMPTY_REPOSITORY: readonly (readonly [path: string, text: string])[] = [
  ["HEAD", "ref: refs/heads/none\n"],
  ["objects/info/keep", ""],
  ["refs/keep", ""],
  ["info/attributes", "* !filter\n"],
];

/** `--include` is a glob, and `[id].tsx` is a name. */
function escapeGlob(path: string): string {
  return path.replace(/[[\]*?\\]/g, "\\$&");
}

/** Keeps head and tail of a long text and says how much is gone: an error is mostly at the end. */
function capText(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text;
  const half = Math.floor(limitChars / 2);
  const head = text.slice(0, half).toWellFormed();
  const tail = text.slice(text.length - half).toWellFormed();
  return `${head}\n… ${text.length - 2 * half} characters cut …\n${tail}`;
}
