import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CaseState } from "../../application/ports/history.ts";
import { isAlive } from "../platform/process-table.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { type AskGit, checkOutState } from "./git-log.ts";

/** Dependencies that a package manager installed: checks need them, and no request is solved in them. */
const DEPENDENCIES: ReadonlySet<string> = new Set(
  "node_modules .venv venv vendor bower_components".split(" "),
);
const DEEPEST = 3;

export type RoomFolder = Awaited<ReturnType<typeof makeRoomFolder>>;

/** Dependency folders of a workspace, relative to it. */
export function findDependencies(root: string, below = "", depth = 0): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (!entry.isDirectory() || entry.name === ".git") return [];
    if (DEPENDENCIES.has(entry.name)) return [path];
    return depth < DEEPEST && !entry.name.startsWith(".") ? findDependencies(root, path, depth + 1) : [];
  });
}

/** A folder of links into another one. It and its programs are real folders: views follow no link, and dependencies are found by them. */
function linkFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [target, link] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && /^\.?bin$/.test(entry.name)) linkFolder(target, link);
    else symlinkSync(target, link);
  }
}

/** Removes the rooms of processes that died. */
function sweepRooms(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (!isAlive(Number(name.split("-", 1)[0]))) removeTree(join(folder, name));
}

/** Makes a room below `folder`: the tracked files of a state, git's history up to it, and links to the dependencies of today. */
export async function makeRoomFolder(
  git: AskGit,
  state: CaseState,
  deps: { readonly folder: string; readonly root: string; readonly dependencies: readonly string[] },
) {
  sweepRooms(deps.folder);
  const folder = join(deps.folder, `${process.pid}-${crypto.randomUUID()}`);
  const project = join(folder, "project");
  try {
    await checkOutState(git, state, project);
  } catch (error) {
    removeTree(folder);
    throw error;
  }
  const linked = deps.dependencies.filter(
    (path) => !existsSync(join(project, path)) && existsSync(join(project, dirname(path))),
  );
  for (const path of linked) linkFolder(join(deps.root, path), join(project, path));
  mkdirSync(join(project, ".git/info"), { recursive: true });
  writeFileSync(join(project, ".git/info/exclude"), linked.map((path) => `/${path}\n`).join(""));
  let homes = 0;
  return {
    project,
    /** A new home of PicoClaw for each caller. */
    newHome(): string {
      homes += 1;
      const home = join(folder, `home-${homes}`);
      mkdirSync(home, { mode: 0o700 });
      return home;
    },
    remove: () => removeTree(folder),
  };
}
