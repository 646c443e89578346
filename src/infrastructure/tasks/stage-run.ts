import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import type { ContainerMount } from "../../application/ports/containers.ts";
import { removeTree } from "../engine/remove-tree.ts";
import { mountBelow } from "../engine/staging.ts";
import type { LaidRoot } from "../engine/overlay-layers.ts";
import { copyFolder } from "../engine/copy-folder.ts";
import { rootsFor } from "../engine/git-roots.ts";
import { takeManifest } from "../engine/manifest.ts";
import { CONTAINER_HOME } from "./in-container.ts";

const PROJECT_FOLDER = "/workspace/project";

/** The view a task's container has of the repository: what is mounted where, and where its writes go on the host. */
export interface TaskLayers {
  readonly kind: "overlay" | "copy";
  readonly roots: readonly (LaidRoot & { readonly target: string })[];
  readonly mounts: readonly ContainerMount[];
  /** Where the workspace lies inside. */
  readonly directory: string;
  /** Where everything of it lies on the host. */
  readonly folder: string;
}

export interface LayerDeps {
  readonly workspace: string;
  /** A folder of this task's own, on the workspace's file system. */
  readonly folder: string;
  readonly user: { readonly uid: number; readonly gid: number };
  /** Never shown to the worker. */
  readonly ownFolders: readonly string[];
  /** What a copy may hold. */
  readonly copyLimitBytes: number;
}

/** Why the other kind has to serve; an overlay does not show what is mounted below it. */
export function overlayTrouble(workspace: string): string | null {
  const below = mountBelow(rootsFor(workspace));
  if (below !== null) return `something is mounted below the workspace: ${below}`;
  const bad = rootsFor(workspace).find((path) => /[,:\\]/.test(path));
  return bad === undefined ? null : `an overlay takes no , or : in a path: ${bad}`;
}

/** A text says why it could not be done; nothing is left then. */
export function makeLayers(parts: LayerDeps, kind: "overlay" | "copy"): TaskLayers | string {
  const { workspace, folder, user } = parts;
  removeLayers(folder);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const [top = workspace, ...others] = rootsFor(workspace);
  const complaint = kind === "copy" ? copyRoots(parts, [top, ...others]) : null;
  if (complaint !== null) {
    removeLayers(folder);
    return complaint;
  }
  const roots = [top, ...others].map((path, index) => {
    const upper = join(folder, `u${index}`);
    if (kind === "overlay") {
      mkdirSync(upper);
      mkdirSync(join(folder, `w${index}`));
      const { mode, uid, gid } = lstatSync(path);
      if (process.getuid?.() === 0) chownSync(upper, uid, gid);
      chmodSync(upper, mode & 0o7777);
    }
    // A git directory elsewhere is named by its absolute path in `.git`.
    return { path, upper, redirects: false, target: index === 0 ? PROJECT_FOLDER : path };
  });
  const mounts = roots.map(({ path, upper, target }, index): ContainerMount => {
    if (kind === "copy") return { kind: "bind", source: upper, target, readOnly: false };
    return { kind: "overlay", lower: [path], upper, work: join(folder, `w${index}`), target };
  });
  const below = relative(top, workspace);
  return {
    kind,
    folder,
    roots,
    mounts: [...mounts, ...accountMounts(folder, user)],
    directory: below === "" ? PROJECT_FOLDER : join(PROJECT_FOLDER, below),
  };
}

function copyRoots(
  { folder, ownFolders, copyLimitBytes }: LayerDeps,
  roots: readonly string[],
): string | null {
  const isOwn = (path: string) => ownFolders.includes(path);
  const bytes = roots.reduce(
    (sum, root) => sum + takeManifest(root, (path) => isOwn(join(root, path))).bytes,
    0,
  );
  if (bytes > copyLimitBytes) return `a copy would hold ${bytes} bytes, more than worker.copy_limit`;
  for (const [index, root] of roots.entries()) {
    const [complaint] = copyFolder(root, join(folder, `u${index}`), ownFolders);
    if (complaint !== undefined) return complaint;
  }
  return null;
}

/**
 * The engine mounts as root, and the kernel leaves a folder that only root can look into in each work folder. Where it
 * is empty, whoever owns the folder above may remove it; where whiteouts were made, one of them may be left inside, and
 * false says so.
 */
export function removeLayers(folder: string): boolean {
  for (let index = 0; existsSync(join(folder, `w${index}`)); index++) {
    const work = join(folder, `w${index}`);
    for (const name of readdirSync(work)) trySystemCall(() => rmdirSync(join(work, name)));
  }
  if (trySystemCall(() => removeTree(folder))) return true;
  // So that root without its powers, in a container, can walk to what is root's.
  chmodSync(folder, 0o755);
  return false;
}

function trySystemCall(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return false;
  }
}

/** The user has a name and a home inside, whatever its number: programs ask for both. */
function accountMounts(folder: string, { uid, gid }: LayerDeps["user"]): ContainerMount[] {
  const passwd = [
    "root:x:0:0:root:/root:/bin/sh",
    ...(uid === 0 ? [] : [`worker:x:${uid}:${gid}:worker:${CONTAINER_HOME}:/bin/sh`]),
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
  ];
  const group = ["root:x:0:", ...(gid === 0 ? [] : [`worker:x:${gid}:`]), "nogroup:x:65534:"];
  return [passwd, group].map((lines, index) => {
    const source = join(folder, index === 0 ? "passwd" : "group");
    writeFileSync(source, `${lines.join("\n")}\n`, { mode: 0o644 });
    return { kind: "bind", source, target: `/etc/${basename(source)}`, readOnly: true };
  });
}
