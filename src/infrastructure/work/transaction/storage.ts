import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hashHex } from "../../runtime/hash.ts";

/**
 * Where a workspace's jobs are kept: on the workspace's own file system, so that a commit is a rename.
 * First choice is PicoClaw's home; where that is another file system, a hidden folder beside the workspace
 * (beside the repository when the workspace lies in one), and last `<workspace>/.picoclaw`.
 */
export interface Storage {
  readonly workspace: string;
  /** The folder with `jobs/`, the intent file and nothing else. */
  readonly folder: string;
  /** Path of the storage relative to the workspace when it lies inside it. */
  readonly inside: string | null;
}

export function workspaceId(workspace: string): string {
  const hash = hashHex("sha256", workspace).slice(0, 10);
  return `${
    basename(workspace)
      .replace(/[^\w.-]+/g, "_")
      .slice(0, 40) || "root"
  }-${hash}`;
}

/**
 * Never fails: where no place can be written to, it names the last one, and the job that needs it is refused with the
 * reason.
 */
export function locateStorage(workspace: string, home: string, outermost: string): Storage {
  const id = workspaceId(workspace);
  const inHome = join(home, "workspaces", id);
  const pointer = join(inHome, "location");
  const known = existsSync(pointer) ? readFileSync(pointer, "utf8").trim() : "";
  if (known !== "" && existsSync(known) && renameable(known, workspace)) return storage(workspace, known);
  if (renameable(nearestExisting(home), workspace) && prepare(inHome)) return storage(workspace, inHome);
  const beside = join(dirname(outermost), `.${id}.picoclaw`);
  const places = renameable(dirname(outermost), workspace) ? [beside] : [];
  for (const place of [...places, join(workspace, ".picoclaw")]) {
    if (!prepare(place, workspace)) continue;
    attempt(() => {
      mkdirSync(inHome, { recursive: true, mode: 0o700 });
      writeFileSync(pointer, `${place}\n`);
    });
    return storage(workspace, place);
  }
  return storage(workspace, join(workspace, ".picoclaw"));
}

/** Makes a storage that no `git status` shows; false where that cannot be. */
function prepare(folder: string, within = ""): boolean {
  if (within !== "" && !existsSync(within)) return false;
  return attempt(() => {
    mkdirSync(join(folder, "jobs"), { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (!existsSync(join(folder, ".gitignore"))) writeFileSync(join(folder, ".gitignore"), "*\n");
  });
}

function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return false;
  }
}

function storage(workspace: string, folder: string): Storage {
  const inside = folder.startsWith(`${workspace}/`) ? folder.slice(workspace.length + 1) : null;
  return { workspace, folder, inside };
}

/** Whether a rename between the two folders can work: one device, one mount. */
export function renameable(a: string, b: string): boolean {
  try {
    if (statSync(a).dev !== statSync(b).dev) return false;
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  const mounts = mountPoints();
  return longestPrefix(mounts, a) === longestPrefix(mounts, b);
}

export function mountPoints(): string[] {
  const points: string[] = [];
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const point = line.split(" ", 5)[4];
    if (point !== undefined) points.push(unescaped(point));
  }
  return points;
}

function unescaped(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** The type of the file system that a path lies on. */
export function fileSystemOf(path: string): string {
  if (process.platform !== "linux") return "?";
  let best = { point: "", type: "?" };
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [before, after] = line.split(" - ");
    const point = unescaped(before?.split(" ", 5)[4] ?? "");
    const holds = point === "/" || path === point || path.startsWith(`${point}/`);
    if (point !== "" && holds && point.length >= best.point.length)
      best = { point, type: after?.split(" ")[0] ?? "?" };
  }
  return best.type;
}

function longestPrefix(points: readonly string[], path: string): string {
  let best = "/";
  for (const point of points) {
    if (point.length > best.length && (path === point || path.startsWith(`${point}/`))) best = point;
  }
  return best;
}

function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at)) at = dirname(at);
  return at;
}
