import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type {
  CheckViewRequest,
  OpenedCheck,
  SealedChanges,
  Transaction,
} from "../../application/ports/jobs-transaction.ts";
import { ViewFault } from "../../application/ports/platform-view.ts";
import { ChannelClosed, SILENT_SANDBOX } from "../../application/ports/sandbox.ts";
import { gatherSealNotes } from "../../domain/jobs/result.ts";
import { isInside } from "../../domain/platform/paths.ts";
import {
  BUILT_FOLDER,
  HOME_LAYER,
  type JobFolder,
  openSlots,
  type Plan,
  printPlan,
  removeLayers,
  removeSlots,
  takeStamp,
  toChanges,
} from "../jobs/job-folder.ts";
import { identify, rewriteFile } from "../platform/entry-identity.ts";
import { retryDespiteOthers, watchView } from "../platform/folder-view.ts";
import { findReach, gitCeiling, repositoryOf, rootsFor } from "../platform/git-roots.ts";
import { mountBelow } from "../platform/mount-points.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { collectGarbage } from "../platform/unattended.ts";
import type { LaidRoot, OverlayBeginResult, OverlayDeps } from "../sandbox/create-sandbox.ts";
import { createWakeable, startExecutor, type Wakeable } from "../sandbox/start-executor.ts";
import { readSettled } from "./compare-entries.ts";
import { layWhiteouts, maskOf, namedIn } from "./hidden-files.ts";
import { keepImages } from "./job-archive.ts";
import { createChangeWatch, createEarlySight, createFirstSight } from "./overlay-changes.ts";
import {
  copyMarked,
  createLayeredFiles,
  currentBytes,
  findLayeredPath,
  lookThrough,
  lowerFolderOf,
  originalBytes,
  walkUpper,
} from "./overlay-layers.ts";
import { baseOfFolder, sealUpper } from "./overlay-seal.ts";
import { createFlushAhead, gatherSealedRoots, makeDurable, partedLinks, validateOps } from "./seal-ops.ts";
import { foldersOnTheWay } from "./swap.ts";

interface OverlayChecks
  extends Pick<
    OverlayDeps,
    | "liftTo"
    | "workspace"
    | "folder"
    | "installation"
    | "env"
    | "openThrowAway"
    | "keepCaches"
    | "secretFiles"
  > {
  readonly roots: readonly LaidRoot[];
}

/** Views whose changes are discarded: an upper above the draft's, the baseline's build output and the workspace, which do not change. */
function createOverlayChecks(parts: OverlayChecks) {
  const { workspace, folder, roots, installation, env } = parts;
  let count = 0;
  let scratchName: string | null = null;
  const scratchFolder = join(folder.path, "scratch");
  return async ({
    over,
    startedBy,
    network,
    home,
    built,
    scratch,
  }: CheckViewRequest): Promise<OpenedCheck> => {
    const into = join(folder.path, `check.${++count}`);
    mkdirSync(into, { mode: 0o700 });
    // Its layers were stacked on other ones, and would show files that no longer exist.
    if (scratch !== undefined && scratch !== scratchName) removeTree(scratchFolder);
    if (scratch !== undefined) scratchName = scratch;
    const laid = roots.map((root, i) => {
      const kept = join(scratchFolder, `u${i}`);
      return layUpper(root, into, i, scratch !== undefined && existsSync(kept) ? kept : null);
    });
    const builtLayers = roots.map((_, i) => join(folder.path, BUILT_FOLDER, `u${i}`));
    const hasBuilt = built && builtLayers.some((layer) => existsSync(layer));
    const lifted = parts.liftTo === null ? null : makeLift(parts.liftTo);
    const secrets = parts.secretFiles(startedBy);
    const screens = hideFrom(roots, secrets, lifted ?? into);
    const lower = (layer: string) => (lifted === null ? layer : liftLayer(layer, lifted));
    const remove = () => {
      removeTree(into);
      if (lifted !== null) removeTree(lifted);
    };
    const caches = join(folder.path, BUILT_FOLDER, HOME_LAYER);
    const opened = await parts.openThrowAway(into, { startedBy, network, over, home, caches });
    const started = await startExecutor(
      {
        ...opened.sandbox,
        job: into,
        directory: workspace,
        roots: roots.map(({ path, upper }, i) => {
          const between = hasBuilt ? builtLayers.slice(i, i + 1).filter((layer) => existsSync(layer)) : [];
          const lowers = [...(over === "draft" ? [upper] : []), ...between].map(lower);
          return { path, source: { kind: "overlay", lowers: [...lowers, ...(screens[i] ?? [])] } };
        }),
      },
      installation,
      env,
    );
    if (!started.ok) {
      opened.release();
      remove();
      return { ok: false, message: started.complaint };
    }
    const { executor } = started;
    const maskFiles = startedBy === "model" ? undefined : maskOf(parts.secretFiles("model"));
    let stopping: Promise<void> | null = null;
    const stop = () => {
      stopping ??= executor.stop().then(() => void opened.release());
      return stopping;
    };
    return {
      ok: true,
      check: {
        view: executor.view,
        directory: workspace,
        environment: { ...executor.environment, ...gitCeiling(roots.map(({ path }) => path)) },
        processes: executor.processes,
        confined: opened.sandbox.confined,
        ...(maskFiles !== undefined && { maskFiles }),
        hasBuilt,
        touched: () => laid.flatMap((root) => touchedIn(root, workspace)),
        hiddenFiles: secrets.map((path) => relative(workspace, path)),
        async keepBuilt(paths) {
          await stop();
          for (const layer of builtLayers) removeTree(layer);
          parts.keepCaches(join(into, HOME_LAYER), caches);
          const absolute = paths.map((path) => join(workspace, path));
          for (const [i, root] of laid.entries()) keepBelow(root, absolute, builtLayers[i] as string);
        },
        async close() {
          await stop();
          if (scratch !== undefined) {
            mkdirSync(scratchFolder, { recursive: true, mode: 0o700 });
            for (const [i, { upper }] of laid.entries()) renameSync(upper, join(scratchFolder, `u${i}`));
          }
          remove();
        },
      },
    };
  };
}

/** Folders that show nothing, or another folder, of the layers below count as a whole. */
function touchedIn(root: LaidRoot, workspace: string): string[] {
  const paths: string[] = [];
  for (const { path, kind, inherits, source } of walkUpper(root)) {
    if (kind === "directory" || kind === "no-text" || inherits || source !== undefined) continue;
    const absolute = join(root.path, path);
    if (absolute !== workspace && isInside(workspace, absolute)) paths.push(relative(workspace, absolute));
  }
  return paths;
}

/** For each root the layer that hides these files, if it holds one of them. */
function hideFrom(roots: readonly LaidRoot[], secrets: readonly string[], into: string): string[][] {
  return roots.map(({ path }, i) => {
    const layer = join(into, `h${i}`);
    removeTree(layer);
    return layWhiteouts(path, secrets, layer) ? [layer] : [];
  });
}

function makeLift(below: string): string {
  mkdirSync(below, { recursive: true, mode: 0o700 });
  return mkdtempSync(join(below, "check-"));
}

/** A copy of a layer with its marks. */
function liftLayer(layer: string, into: string): string {
  const to = join(into, String(readdirSync(into).length));
  const complaint = copyMarked(["-T", "--", layer, to]);
  if (complaint === null) return to;
  throw new Error(`a layer of the job could not be copied: ${complaint}`);
}

/** `kept`: the upper of an earlier view that is used again. Its work folder is always new, because the kernel refuses an old one. */
function layUpper(
  { path, redirects, hides }: LaidRoot,
  into: string,
  index: number,
  kept: string | null,
): LaidRoot {
  const upper = join(into, `u${index}`);
  if (kept === null) mkdirSync(upper);
  else renameSync(kept, upper);
  mkdirSync(join(into, `w${index}`));
  chmodSync(upper, lstatSync(path).mode & 0o7777);
  return { path, upper, redirects, hides };
}

/** Moves an upper's entries at these paths, and nothing else, into a layer of the same shape. */
function keepBelow(root: LaidRoot, paths: readonly string[], layer: string): void {
  for (const absolute of paths) {
    const path = relative(root.path, absolute);
    if (!isInside(root.path, absolute) || path === "") continue;
    // Commands could forge the list, and no link among the folders is followed.
    if (identify(root.upper, path) === null) continue;
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

/**
 * Stages a job in an overlay: the workspace and its repository under an upper of the job's own, which is the change set, so cost
 * follows the change. The sandbox may end and another be started over the same upper.
 */
export async function beginOverlayTransaction(deps: OverlayDeps): Promise<OverlayBeginResult> {
  const { workspace, folder, installation, env } = deps;
  const reach = rootsFor(workspace);
  const mounted = mountBelow(reach);
  if (mounted !== null)
    return { ok: false, complaint: `something is mounted below the workspace: ${mounted}` };
  const stamp = takeStamp(join(folder.path, "stamp"));
  const roots = reach.map((path, i): LaidRoot => {
    const upper = join(folder.path, `u${i}`);
    mkdirSync(upper);
    chmodSync(upper, lstatSync(path).mode & 0o7777);
    return { path, upper, redirects: deps.redirects, hides: new Set() };
  });
  const hidden: { secrets: readonly string[]; lifted: string | null } = { secrets: [], lifted: null };
  const executor = createWakeable({
    open: deps.openSandbox,
    start(sandbox) {
      freshWork(folder.path, roots.length);
      hidden.secrets = deps.secretFiles(deps.startedBy);
      if (hidden.secrets.length > 0 && deps.liftTo !== null) hidden.lifted ??= makeLift(deps.liftTo);
      const screens = hideFrom(roots, hidden.secrets, hidden.lifted ?? folder.path);
      const plan = { ...sandbox, job: folder.path, directory: workspace };
      for (const { path, hides } of roots)
        for (const secret of hidden.secrets) if (isInside(path, secret)) hides.add(relative(path, secret));
      const laid = roots.map(({ path }, i) => ({
        path,
        source: { kind: "overlay" as const, lowers: screens[i] ?? [] },
      }));
      return startExecutor({ ...plan, roots: laid }, installation, env);
    },
  });
  const complaint = deps.resting ? null : await wakeFirst(executor);
  if (complaint !== null) {
    clearLayers(folder, roots.length);
    if (hidden.lifted !== null) removeTree(hidden.lifted);
    return { ok: false, complaint };
  }
  return { ok: true, transaction: openOverlay({ ...deps, roots, stamp, executor, hidden }) };
}

/** A mount or folder may disappear between being listed and being mounted: a failure counts only if it occurs again with a fresh list. */
async function wakeFirst(executor: Wakeable): Promise<string | null> {
  const complaint = await executor.wake();
  return complaint === null || complaint === SILENT_SANDBOX ? complaint : executor.wake();
}

/** A volatile overlay refuses the work folder of another mount. */
function freshWork(folder: string, count: number): void {
  for (let i = 0; i < count; i++) {
    removeTree(join(folder, `w${i}`));
    mkdirSync(join(folder, `w${i}`));
  }
}

interface OpenOverlay extends OverlayDeps {
  readonly roots: readonly LaidRoot[];
  readonly stamp: bigint;
  readonly executor: Wakeable;
  /** What the last sandbox did not show, and where its layer is if it may not be in the job's folder. */
  readonly hidden: { readonly secrets: readonly string[]; readonly lifted: string | null };
}

function openOverlay(state: OpenOverlay): Transaction {
  const { workspace, folder, roots, executor, limited, stamp } = state;
  const sight = createFirstSight(stamp, { keepsBytes: state.keepsBytes });
  const early = createEarlySight(roots, sight);
  const nameless = new Set<string>();
  /** Files that the job removed, may not remove, and that no other path names. */
  const lost: string[] = [];
  let takeChanges = createChangeWatch(roots, workspace, sight, early, nameless);
  let foreignOwner: string | null = null;
  let ownHomeAside: string | null = null;
  const metForeign = () => {
    const found = foreignOwner ?? state.metForeign?.() ?? null;
    foreignOwner = found === null ? null : relative(workspace, found);
    return foreignOwner;
  };
  const onFault = (error: unknown) => {
    if (error instanceof ViewFault && /EOVERFLOW/.test(error.message)) metForeign();
  };
  return {
    kind: "overlay",
    view: watchView(executor.view(onFault), (path) => sight.note(join(workspace, path))),
    directory: workspace,
    environment: { ...state.environment, ...gitCeiling(roots.map(({ path }) => path)) },
    ...(limited !== undefined && { network: limited }),
    ...(limited === "allow-list" && { takeTraffic: executor.takeTraffic }),
    processes: {
      ...executor.processes,
      async runProcess(request) {
        const stop = early.watch();
        try {
          return await executor.processes.runProcess(request);
        } finally {
          stop();
        }
      },
    },
    hiddenHome: state.hiddenHome,
    secretFiles: () => state.hidden.secrets.map((path) => relative(workspace, path)),
    hiddenSecrets: (words) => namedIn(words, state.hidden.secrets, workspace),
    homeAside: () => ownHomeAside ?? executor.homeAside(),
    takeChanges: () => takeChanges(),
    ...(state.metForeign && { metForeign }),
    revert(paths) {
      if (paths.length === 0) return;
      for (const path of paths)
        if (nameless.has(path)) lost.push(path);
        // A restored copy of a hidden file could be read in the upper.
        else if (state.hidden.secrets.includes(resolve(workspace, path)))
          retryDespiteOthers(() => executor.remove(resolve(workspace, path)), isChannelClosed);
        else retryDespiteOthers(() => executor.restore(resolve(workspace, path)), isChannelClosed);
      takeChanges();
    },
    rewrite(path, bytes) {
      const absolute = resolve(workspace, path);
      const rewrite = () => executor.rewrite(absolute, bytes, findLayeredPath(roots, absolute));
      retryDespiteOthers(rewrite, isChannelClosed);
      takeChanges();
    },
    look: (path, when) => lookThrough(roots, resolve(workspace, path), when),
    original: (path) => originalBytes(roots, resolve(workspace, path)),
    current: (path) => currentBytes(roots, resolve(workspace, path)),
    repository: repositoryOf(workspace),
    foreign: findReach(workspace).foreign,
    layers: {
      async rest() {
        await executor.rest();
        const why = executor.whyEnded();
        if (why !== null) throw why;
      },
      async wake(head) {
        if (executor.isAwake()) return null;
        sight.reopened(takeStamp(join(folder.path, "stamp")));
        const complaint = await executor.wake(head);
        if (complaint === null) return null;
        state.onComplaint();
        return { code: "failed", message: complaint };
      },
      ...(state.takesHeads && { headPort: executor.headPort }),
      changes: () => createChangeWatch(roots, workspace, sight)(),
      moved: () =>
        createChangeWatch(roots, workspace, sight)().flatMap(({ path }) => {
          const absolute = resolve(workspace, path);
          return sight.hasMoved(absolute) ? [{ path, base: sight.bytes(absolute) }] : [];
        }),
      adopt(path, theirs, bytes) {
        const absolute = resolve(workspace, path);
        const place = findLayeredPath(roots, absolute);
        const root = roots.find(({ upper }) => upper === place?.root);
        if (place === null || root === undefined) return false;
        const found = readSettled(root.path, relative(root.path, absolute), theirs);
        if (found === null) return false;
        rewriteFile(place.root, place.below, bytes, { was: sight.mode(absolute), now: found.mode });
        sight.renew(absolute, found, theirs);
        takeChanges();
        return true;
      },
      forget(paths) {
        // The entries of a folder before the folder.
        for (const path of paths.toSorted().reverse()) {
          const absolute = resolve(workspace, path);
          const root = roots.find((one) => isInside(one.path, absolute));
          if (root === undefined) continue;
          const at = join(root.upper, relative(root.path, absolute));
          const isNew = () => !existsSync(absolute) && readdirSync(at).length === 0;
          if (lstatSync(at, { throwIfNoEntry: false })?.isDirectory() !== true) rmSync(at, { force: true });
          else if (isNew()) rmdirSync(at);
          sight.forget(absolute);
        }
        takeChanges();
      },
      files: createLayeredFiles(roots, workspace),
      openCheck: createOverlayChecks(state),
      homes: state.homes,
    },
    async seal(judge, end): Promise<SealedChanges> {
      const why = executor.whyEnded();
      if (why !== null) throw why;
      const { gone } = await executor.quieten();
      if (foreignOwner !== null || lost.length > 0) {
        await gone;
        const why = foreignOwner === null ? { noText: lost } : { foreignOwner };
        return { changes: [], outside: [], notes: [], ...why };
      }
      // The remembered states of a job with many files need as much memory as the rest of it.
      takeChanges = () => [];
      const gathered = gatherSealedRoots(workspace);
      const { ops: left, notes, attributed, linked } = gathered;
      const ahead = createFlushAhead(folder);
      const paths = roots.map(({ path }) => path);
      const slots = openSlots(folder);
      let plan: Plan;
      try {
        for (const [index, root] of roots.entries()) {
          const place = { folder: slots.folder, root, index, firstSlot: left.length, stamp, sight };
          gathered.add(root.path, await sealUpper(place, ahead));
        }
        const refusal = gathered.refusal();
        if (refusal !== null) return refusal;
        collectGarbage(left.length);
        const { ops, notes: lost } = validateOps(
          { folder: slots.folder, workspace, roots: paths, ops: left, attributed },
          judge,
        );
        collectGarbage(ops.length);
        notes.push(...lost, ...partedLinks(ops, paths, linked));
        const folders = foldersOnTheWay(ops, (root, path) =>
          baseOfFolder(roots[root] as LaidRoot, path, sight),
        );
        plan = { roots: paths, workspace, stamp: String(stamp), ops, folders };
        // This runs while the disk is writing; the plan is valid only when every slot is on the disk.
        if (end?.preview !== true) keepImages(slots.folder, plan, "b");
        const written = printPlan(folder, plan);
        try {
          await ahead.done();
          await makeDurable(folder, ops);
        } catch (error) {
          written.drop();
          throw error;
        }
        written.finish();
      } finally {
        slots.close();
        await Promise.all([gone, ahead.done()]);
      }
      const { ops } = plan;
      if (end?.preview !== true) {
        ownHomeAside = state.onCommit();
        state.onSealed?.(plan);
      }
      clearLayers(folder, roots.length, ops.length);
      if (state.hidden.lifted !== null) removeTree(state.hidden.lifted);
      sight.forgetAll();
      collectGarbage(ops.length);
      return { changes: toChanges(ops, paths, workspace), outside: [], notes: gatherSealNotes(notes) };
    },
    async discard() {
      await executor.rest();
      clearLayers(folder, roots.length);
      if (state.hidden.lifted !== null) removeTree(state.hidden.lifted);
      removeSlots(folder);
    },
  };
}

function isChannelClosed(error: unknown): boolean {
  return error instanceof ChannelClosed;
}

/** The kernel leaves a folder without permissions inside each work folder. */
function clearLayers(folder: JobFolder, count: number, entries = 0): void {
  const layers = Array.from({ length: count }, (_, i) => [`w${i}`, `u${i}`, `h${i}`]).flat();
  removeLayers(folder, [...layers, HOME_LAYER, BUILT_FOLDER], entries);
}
