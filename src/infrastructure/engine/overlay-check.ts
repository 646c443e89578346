import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { CheckViewRequest, OpenedCheck } from "../../application/ports/jobs-transaction.ts";
import type { Installation } from "../platform/runtime-installation.ts";
import { removeTree } from "./remove-tree.ts";
import { isInside } from "./git-roots.ts";
import { BUILT_FOLDER, type JobFolder } from "./job-folder.ts";
import { createRemoteView } from "./remote-view.ts";
import { sandboxEnvironment } from "./sandbox-plan.ts";
import { startExecutor } from "./start-executor.ts";
import { type LaidRoot, lowerFolderOf } from "./overlay-layers.ts";
import type { OpenedSandbox } from "./wakeable.ts";

export interface OverlayChecks {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly roots: readonly LaidRoot[];
  readonly installation: Installation;
  readonly env: Readonly<Record<string, string>>;
  readonly openThrowAway: (
    into: string,
    options: { readonly network: boolean; readonly over: CheckViewRequest["over"] },
  ) => Promise<OpenedSandbox>;
}

/**
 * Views whose changes are thrown away, each in a sandbox of its own: an upper above the draft's, above what checks of
 * the baseline built, above the workspace. The draft's upper is never written to.
 */
export function createOverlayChecks(parts: OverlayChecks) {
  const { workspace, folder, roots, installation, env } = parts;
  let count = 0;
  return async ({ over, network, built }: CheckViewRequest): Promise<OpenedCheck> => {
    const into = join(folder.path, `check.${++count}`);
    mkdirSync(into, { mode: 0o700 });
    const laid = roots.map((root, i) => layUpper(root, into, i));
    const builtLayers = roots.map((_, i) => join(folder.path, BUILT_FOLDER, `u${i}`));
    const hasBuilt = built && builtLayers.some((layer) => existsSync(layer));
    const opened = await parts.openThrowAway(into, { network, over });
    const started = await startExecutor(
      {
        ...opened.sandbox,
        job: into,
        directory: workspace,
        roots: roots.map(({ path, upper }, i) => {
          const between = hasBuilt ? builtLayers.slice(i, i + 1).filter((layer) => existsSync(layer)) : [];
          return {
            path,
            source: { kind: "overlay", lowers: [...(over === "draft" ? [upper] : []), ...between] },
          };
        }),
      },
      installation,
      env,
    );
    if (!started.ok) {
      opened.release();
      removeTree(into);
      return { ok: false, message: started.complaint };
    }
    const { executor } = started;
    let stopping: Promise<void> | null = null;
    const stop = () => {
      stopping ??= executor.stop().then(opened.release);
      return stopping;
    };
    return {
      ok: true,
      check: {
        view: createRemoteView(executor.call),
        directory: workspace,
        environment: sandboxEnvironment(opened.sandbox),
        processes: executor.processes,
        confined: opened.sandbox.confined,
        hasBuilt,
        async keepBuilt(paths) {
          await stop();
          removeTree(join(folder.path, BUILT_FOLDER));
          const absolute = paths.map((path) => join(workspace, path));
          for (const [i, root] of laid.entries()) keepBelow(root, absolute, builtLayers[i] as string);
        },
        async close() {
          await stop();
          removeTree(into);
        },
      },
    };
  };
}

function layUpper({ path, redirects }: LaidRoot, into: string, index: number): LaidRoot {
  const upper = join(into, `u${index}`);
  mkdirSync(upper);
  mkdirSync(join(into, `w${index}`));
  chmodSync(upper, lstatSync(path).mode & 0o7777);
  return { path, upper, redirects };
}

/** Moves what an upper has at these paths, and nothing else, into a layer of the same shape. */
function keepBelow(root: LaidRoot, paths: readonly string[], layer: string): void {
  for (const absolute of paths) {
    const path = relative(root.path, absolute);
    if (!isInside(root.path, absolute) || path === "") continue;
    if (lstatSync(join(root.upper, path), { throwIfNoEntry: false }) === undefined) continue;
    if (makeShape(root, dirname(path), layer)) renameSync(join(root.upper, path), join(layer, path));
  }
}

/** The folders above a path; false where one of them no longer shows the workspace's. */
function makeShape(root: LaidRoot, folder: string, layer: string): boolean {
  mkdirSync(layer, { recursive: true });
  chmodSync(layer, lstatSync(root.upper).mode & 0o7777);
  if (folder === ".") return true;
  const parts = folder.split("/");
  for (let i = 1; i <= parts.length; i++) {
    const path = parts.slice(0, i).join("/");
    if (lowerFolderOf(root, path, dirname(path) === "." ? "" : dirname(path)) !== path) return false;
    if (existsSync(join(layer, path))) continue;
    mkdirSync(join(layer, path));
    chmodSync(join(layer, path), lstatSync(join(root.upper, path)).mode & 0o7777);
  }
  return true;
}
