import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { resolveJobName } from "../../application/jobs/job-facts.ts";
import type { NetworkTraffic, StartedBy } from "../../application/ports/jobs-transaction.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import type { ProcessRunner } from "../../application/ports/platform-processes.ts";
import type { View } from "../../application/ports/platform-view.ts";
import type { ProcessConfinement } from "../../application/ports/sandbox-processes.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { findGitPlaces } from "../jobs/git-places.ts";
import { ifSound, jobFolder, type Op, opSlotPath, readOwnPlan, readSoundState } from "../jobs/job-folder.ts";
import { gitCeiling, rootsFor } from "../platform/git-roots.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { type OpenedPorts, openInsidePorts } from "./forward-port.ts";
import { boundRunner } from "./process-bound.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ConfineCopy, ConfinedCopy, Confinement } from "./start-executor.ts";
import { findSocketsBelow } from "./surroundings.ts";

/** Where a background process runs, as far from the rest of the machine as a job is. */
export interface ProcessPlace {
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinement: ProcessConfinement;
  /** Why it ended by itself: the disk was full, say. */
  readonly whyEnded: () => Error | null;
  /** Where it has a network of its own. */
  readonly insidePorts: OpenedPorts | null;
  /** What a proxy saw since the last call; absent where there is none. */
  readonly takeTraffic?: (() => NetworkTraffic) | undefined;
  stop(): Promise<void>;
}

/** Opens the folder that a record names, or that folder with a preview over it. */
export async function openProcessPlace(
  sandbox: Confinement,
  {
    root,
    over,
    startedBy,
    hasOwnNetwork,
  }: Pick<ProcessRecord, "root" | "over" | "startedBy" | "hasOwnNetwork">,
  { run, storage }: { readonly run: string; readonly storage: string },
): Promise<ProcessPlace | { readonly complaint: string }> {
  const request = { root, run, startedBy, hasOwnNetwork };
  const opened = await (over === null
    ? openLivePlace(sandbox, request)
    : openPreviewPlace(sandbox, { ...request, storage, jobId: over }));
  if ("complaint" in opened) return opened;
  return { ...opened, environment: { ...opened.environment, ...gitCeiling(rootsFor(root)) } };
}

interface PlaceRequest {
  readonly root: string;
  /** The folder of the run, empty. */
  readonly run: string;
  readonly startedBy: StartedBy;
  /** `worker.network` is not `on`. */
  readonly hasOwnNetwork: boolean;
}

/**
 * Opens the live folder for a process. In a sandbox its git directories, and start files of a home in it, are read-only: a hook or
 * a setting that a server writes would run outside, with the user's next git command or shell. Sockets of the host in the folder
 * read as nothing: no layer keeps them from answering.
 */
async function openLivePlace(
  sandbox: Confinement,
  request: PlaceRequest,
): Promise<ProcessPlace | { readonly complaint: string }> {
  const { root, run } = request;
  const copies = [
    { original: root, copy: root },
    ...guardedPlaces(root, sandbox.obeyedInHomes({ links: false })).map((place) => ({
      original: place,
      copy: place,
      readOnly: true,
    })),
  ];
  const confined = await confineAt(sandbox, request, copies, [
    ...findSocketsBelow(root),
    ...sandbox.secretFiles(request.startedBy),
  ]);
  if (confined !== null) return confined;
  const limited = (await sandbox.limit()?.(run, [{ copy: root }], { network: true })) ?? null;
  return {
    processes: limited?.processes ?? boundRunner(createProcessRunner(), 0),
    environment: limited?.environment ?? {},
    confinement: limited === null ? "none" : "limited",
    whyEnded: () => null,
    insidePorts: null,
    stop: async () => limited?.stop(),
  };
}

/** Git directories, and entries of a home, that are guarded; all of them are in one argument, whose length the kernel limits. */
const MOST_GUARDED = 200;
const MOST_GUARDED_BYTES = 40_000;

/** Those that are mounted over themselves; over a link nothing can be mounted. */
function guardedPlaces(root: string, ofHomes: readonly string[]): string[] {
  let bytes = 0;
  const ofGit = findGitPlaces(root)
    .filter(({ path, kind }) => path !== "" && kind !== "symlink")
    .map(({ path }) => join(root, path))
    .filter((path) => !ofHomes.some((one) => isInside(one, path)));
  return [...ofHomes, ...ofGit].slice(0, MOST_GUARDED).filter((path) => {
    bytes += Buffer.byteLength(path);
    return bytes <= MOST_GUARDED_BYTES;
  });
}

/** Null where nothing can be confined, and nothing has to be. */
async function confineAt(
  sandbox: Confinement,
  { run, startedBy, hasOwnNetwork }: PlaceRequest,
  copies: Parameters<ConfineCopy>[1],
  hidden: readonly string[] = [],
): Promise<(ProcessPlace & Pick<ConfinedCopy, "view">) | { readonly complaint: string } | null> {
  const confine = sandbox.confine();
  if (confine === null) return null;
  const insidePorts = hasOwnNetwork ? await openInsidePorts(join(run, "callers")) : null;
  const options = { startedBy, network: true, throwAway: true, callersSocket: insidePorts?.socket, hidden };
  const confined = await confine(run, copies, options);
  if (confined === null || "complaint" in confined) {
    insidePorts?.close();
    return confined;
  }
  const { processes, environment, whyEnded, view, limited } = confined;
  return {
    processes,
    environment,
    confinement: confined.confined ? "confined" : "none",
    whyEnded,
    insidePorts,
    takeTraffic: limited.takeTraffic,
    view,
    stop: async () => {
      insidePorts?.close();
      await confined.stop();
    },
  };
}

/** The id of a preview that waits, by its number or its id; null: there is none. */
export function findPreview({ archive, storage }: Pick<Workspace, "archive" | "storage">, name: string) {
  const jobId = resolveJobName({ archive }, name);
  return isPreviewWaiting(storage, jobId) ? jobId : null;
}

export function isPreviewWaiting(storage: string, jobId: string): boolean {
  return readSoundState(jobFolder(storage, jobId))?.state === "staged";
}

/** Opens the folder with a preview applied. What the process writes is removed with it, so git's files need no guard. Needs overlays. */
async function openPreviewPlace(
  sandbox: Confinement,
  preview: PlaceRequest & { readonly storage: string; readonly jobId: string },
): Promise<ProcessPlace | { readonly complaint: string }> {
  const { root, run, storage, jobId } = preview;
  const plan = ifSound(() => readOwnPlan(jobFolder(storage, jobId), root));
  if (plan?.status !== "own" || !isPreviewWaiting(storage, jobId))
    return { complaint: `no preview: ${jobId}` };
  for (const name of ["u0", "w0"]) mkdirSync(join(run, name), { mode: 0o700 });
  const laid = [{ original: root, copy: null }];
  const confined = await confineAt(sandbox, preview, laid, sandbox.secretFiles(preview.startedBy));
  if (confined === null) return { complaint: "a process over a preview needs bubblewrap and overlays" };
  if ("complaint" in confined) return confined;
  try {
    for (const op of plan.plan.ops) {
      const absolute = join(plan.plan.roots[op.root] as string, op.path);
      if (isInside(root, absolute) && op.inPlace !== true)
        layChange(
          confined.view,
          relative(root, absolute),
          op,
          opSlotPath(jobFolder(storage, jobId), op.n, "b"),
        );
    }
  } catch (error) {
    await confined.stop();
    return { complaint: (error as Error).message };
  }
  return confined;
}

/** Applies one change of a preview to the view, replacing the existing entry. */
function layChange(view: View, path: string, { b }: Pick<Op, "b">, slot: string): void {
  if (b === null || view.look(path).kind !== b.kind) removeWhole(view, path);
  if (b !== null) layEntry(view, path, slot);
}

function removeWhole(view: View, path: string): void {
  const { kind } = view.look(path);
  if (kind === "missing") return;
  if (kind === "directory") for (const name of view.list(path)) removeWhole(view, `${path}/${name}`);
  view.remove(path);
}

function layEntry(view: View, path: string, from: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) {
    removeWhole(view, path);
    view.makeSymlink(path, readlinkSync(from));
  } else if (stats.isDirectory()) {
    view.makeDirectory(path);
    for (const name of readdirSync(from)) layEntry(view, `${path}/${name}`, join(from, name));
  } else if (stats.isFile()) view.write(path, readFileSync(from), stats.mode & 0o777);
}
