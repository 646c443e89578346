import {
  isJobId,
  type JobResult,
  type JobStatus,
  toJobStatus,
  toPlainResult,
} from "../../domain/jobs/result.ts";
import type { ParseResult } from "../../domain/patch/patch-command.ts";
import {
  type ActionFacts,
  applyRest,
  discardFacts,
  type JobActionLabels,
  presentActions,
  previewFacts,
  stopFacts,
  takeBackFacts,
} from "../jobs/action-report.ts";
import { isOwnJob, readAgentId, resolveJobName, toListedJob } from "../jobs/job-facts.ts";
import type { Reply } from "../ports/chat.ts";
import type { JobMachine } from "../ports/fleet.ts";
import type { FileDifference, JournalLine, StoredJob } from "../ports/jobs.ts";
import type { StopJobResult, Workspace } from "../ports/jobs-workspace.ts";
import type { BackgroundProcess, ProcessStopped, WorkspaceProcesses } from "../ports/sandbox-processes.ts";
import type { MessageStore } from "../ports/serve.ts";
import {
  inRunningOrder,
  type RunningThing,
  toRunningProcesses,
  toRunningThings,
} from "../sandbox/process-report.ts";
import { type Viewer, viewerIdentities, viewerOwns } from "../serve/access.ts";
import type { Bus } from "../serve/serve-events.ts";

/** The filters of a list of jobs; an empty one filters nothing. */
export interface JobQuery {
  /** Words that must all occur in the request, the title, a path or the id. */
  readonly text: string;
  readonly status: JobStatus | "";
  /** `<channel>:<chatId>`. */
  readonly chat: string;
  /** `2026-03-01`. */
  readonly day: string;
  /** A part of a changed path. */
  readonly path: string;
  /** From 1. */
  readonly page: number;
  /** Jobs on a page. Default: 50. */
  readonly perPage?: number;
}

export type FoundJobs = ReturnType<typeof findJobs>;

const JOBS_PER_PAGE = 50;

/** `jobs` oldest first, as the archive has them. */
export function findJobs(jobs: readonly ViewedJob[], query: JobQuery, dayOf: (iso: string) => string) {
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = jobs.filter(
    ({ job, alive }) =>
      (query.status === "" || toJobStatus(toListedJob(job), alive) === query.status) &&
      (query.chat === "" || chatOfJob(job) === query.chat) &&
      (query.day === "" || dayOf(job.createdAt) === query.day) &&
      (query.path === "" || job.changes.some(({ path }) => path.includes(query.path))) &&
      jobContainsWords(job, words),
  );
  const { perPage = JOBS_PER_PAGE } = query;
  const pages = Math.max(1, Math.ceil(matching.length / perPage));
  const page = Math.min(Math.max(1, query.page), pages);
  const newest = matching.reverse();
  return {
    /** One page of them, newest first. */
    jobs: newest.slice((page - 1) * perPage, page * perPage),
    total: matching.length,
    page,
    pages,
    /** Every chat that has a job, regardless of the query. */
    chats: [...new Set(jobs.map(({ job }) => chatOfJob(job)))].filter((chat) => chat !== "").sort(),
  };
}

/** The chat whose message made a job; empty for a job of the command line or a program. */
export function chatOfJob({ groupId, source }: Pick<StoredJob, "groupId" | "source">): string {
  const end = groupId.lastIndexOf("#");
  return end > 0 && (source.startsWith("chat:") || groupId.includes(":")) ? groupId.slice(0, end) : "";
}

function jobContainsWords(
  { jobId, title, request = "", changes }: StoredJob,
  words: readonly string[],
): boolean {
  if (words.length === 0) return true;
  const text = [jobId, title, request, ...changes.map(({ path }) => path)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

const MOST_CHARACTERS = 64 * 1024;
const MOST_JOBS = 100;

/** The output of running jobs so far, for observers who join late; forgotten when a job ends. */
function createOutputTails(bus: Bus) {
  const tails = new Map<string, string>();
  const add = (jobId: string, output: string) => {
    const text = (tails.get(jobId) ?? "") + output;
    tails.set(jobId, text.length > MOST_CHARACTERS ? text.slice(-MOST_CHARACTERS / 2) : text);
    if (tails.size > MOST_JOBS) tails.delete(tails.keys().next().value as string);
  };
  bus.subscribe((event) => {
    if (event.type === "job" && event.output !== undefined) add(event.jobId, event.output);
    if (event.type !== "chat") return;
    if (event.event.type === "job-output") add(event.event.jobId, event.event.text);
    if (event.event.type === "job-finished") tails.delete(event.event.jobId);
  });
  return {
    of: (jobId: string) => tails.get(jobId) ?? "",
    end: (jobId: string) => void tails.delete(jobId),
  };
}

export interface ViewerJobsDeps {
  /** The one that is served now; a reload exchanges it. */
  readonly workspace: () => Pick<
    Workspace,
    "root" | "archive" | "execute" | "takeBack" | "commitPreview" | "discardPreview" | "stop" | "isAlive"
  >;
  /** The background processes of the same workspace. Absent where there can be none. */
  readonly processes?: () => Promise<WorkspaceProcesses>;
  readonly store: Pick<MessageStore, "noteJob" | "ownerOf" | "jobIdsOf">;
  readonly cancelMessage: (messageId: string) => boolean;
  readonly bus: Bus;
  /** Whether it is this process, or one that answers its messages. */
  readonly isOwn: (pid: number) => boolean;
  readonly now: () => Date;
}

export interface ViewedJob {
  readonly job: StoredJob;
  /** The number of changed files, where only the first are known here. */
  readonly changeCount?: number;
  /** Whether it still runs, regardless of what its folder says. */
  readonly alive: boolean;
  /** Where it was carried out; absent where there is one machine only. */
  readonly machine?: JobMachine;
}

/**
 * Jobs for people at the console and programs at the API. Every call asks whose job it is: one of another user is `unknown`. A job of
 * this machine may be named by its number, several to undo with spaces.
 */
export interface ViewerJobs {
  /** The viewer's jobs that run now on this machine, with their sub-agents, oldest first. `stop` takes the id of each. */
  running(viewer: Viewer): Promise<readonly RunningThing[]>;
  /** Ends a background process of the list; only an operator knows any. */
  stopProcess(viewer: Viewer, id: string): Promise<ProcessStopped>;
  /** Newest first. */
  list(viewer: Viewer, limit: number): Promise<readonly ViewedJob[]>;
  /** The same, narrowed and page by page. */
  find(viewer: Viewer, query: JobQuery, dayOf: (iso: string) => string): Promise<FoundJobs>;
  read(viewer: Viewer, jobId: string): Promise<ViewedJob | null>;
  /** The other jobs of the same message: drafts of other coders, further jobs. Oldest first. */
  beside(job: Pick<StoredJob, "jobId" | "groupId">): Promise<readonly ViewedJob[]>;
  /** Changes whenever the newest job does, in any process. */
  latest(): Promise<string>;
  /** Changes whenever the journal of the job does, or what it printed elsewhere. */
  version(jobId: string): Promise<string>;
  journal(viewer: Viewer, jobId: string): Promise<readonly JournalLine[]>;
  /** The journal as far as it is known here: no other machine is asked for what was cut. */
  knownJournal(viewer: Viewer, jobId: string): Promise<readonly JournalLine[]>;
  /** The output of a running job so far; of another machine's job, without a viewer, the end of it. */
  output(jobId: string, viewer?: Viewer): Promise<string>;
  /** Of all its files, or of one; each is read when it is asked for. Null: they are on a machine that is away. */
  differences(viewer: Viewer, jobId: string, path?: string): Promise<Iterable<FileDifference> | null>;
  /** The buttons of a reply, as they make sense now. */
  actions(reply: Pick<Reply, "actions" | "jobs">, labels: JobActionLabels): Reply["actions"];
  run(viewer: Viewer, request: RunRequest): Promise<JobResult>;
  /** `force`: undo or redo despite conflicts. */
  act(viewer: Viewer, action: JobAction, jobId: string, force?: boolean): Promise<ActionFacts>;
  /** Applies the changes of a preview beside the paths in conflict, as a separate job. */
  applyRest(viewer: Viewer, jobId: string): Promise<ActionFacts | RestFacts>;
}

export type JobAction = ActionFacts["action"];

/** The jobs of the workspace that is served here. */
export interface OwnJobs extends ViewerJobs {
  has(jobId: string): boolean;
  /** Oldest first. */
  all(viewer: Viewer): Promise<readonly ViewedJob[]>;
}

export interface RestFacts {
  readonly about: "rest";
  readonly facts: JobResult;
  /** Paths of the preview that were left out. */
  readonly left: readonly string[];
}

interface RunRequest {
  readonly patch: string;
  /** The patch, where the caller has parsed it. */
  readonly parsed?: ParseResult;
  readonly mode: "dry-run" | "preview" | "apply";
  readonly atomic?: boolean;
  readonly source: string;
}

/** Longer than any job of edits takes. */
const REST_MS = 60_000;
const MOST_OWN = 20_000;

export function createViewerJobs(deps: ViewerJobsDeps): OwnJobs {
  const { workspace, store, bus } = deps;
  const running = new Map<string, AbortController>();
  const tails = createOutputTails(bus);
  const viewed = (job: StoredJob): ViewedJob => ({
    job,
    alive: job.state === "running" && workspace().isAlive(job),
  });

  async function read(viewer: Viewer, name: string): Promise<ViewedJob | null> {
    const jobId = resolveJobName(workspace(), name);
    if (!isJobId(jobId)) return null;
    if (viewer.role !== "operator" && !viewerOwns(viewer, await store.ownerOf(jobId))) return null;
    const job = workspace().archive.read(jobId);
    return job === null ? null : viewed(job);
  }

  /** Newest first: an id begins with its second. */
  async function ownIds(viewer: Viewer, limit: number): Promise<string[]> {
    const mine = await Promise.all(viewerIdentities(viewer).map((who) => store.jobIdsOf(who, limit)));
    return mine.length === 1 ? (mine[0] ?? []) : mine.flat().sort().reverse().slice(0, limit);
  }

  return {
    read,
    async list(viewer, limit) {
      const { archive } = workspace();
      if (viewer.role === "operator")
        return archive.list().filter(isOwnJob).slice(-limit).reverse().map(viewed);
      const ids = await ownIds(viewer, limit);
      return ids
        .map((id) => archive.read(id))
        .filter((job) => job !== null)
        .map(viewed);
    },
    async running(viewer) {
      const things = (await all(viewer)).flatMap(({ job, alive }) =>
        alive ? toRunningThings(toListedJob(job), workspace().archive.events(job.jobId), deps.now()) : [],
      );
      const processes = viewer.role === "operator" ? await listProcesses() : [];
      return inRunningOrder([...things, ...toRunningProcesses(processes, deps.now())]);
    },
    has: (jobId) => isJobId(jobId) && workspace().archive.read(jobId) !== null,
    all,
    find: async (viewer, query, dayOf) => findJobs(await all(viewer), query, dayOf),
    beside: async ({ jobId, groupId }) =>
      workspace()
        .archive.list()
        .filter((job) => job.groupId === groupId && job.jobId !== jobId)
        .map(viewed),
    async latest() {
      const job = workspace().archive.list().at(-1);
      return job === undefined ? "" : `${job.jobId} ${job.state} ${job.stateAt}`;
    },
    version: async (jobId) => String(workspace().archive.events(jobId).length),
    journal: async (_, jobId) => workspace().archive.events(jobId),
    knownJournal: async (_, jobId) => workspace().archive.events(jobId),
    output: async (jobId) => tails.of(jobId),
    actions: (reply, labels) => presentActions(workspace().archive, reply, labels),
    async differences(viewer, jobId, path) {
      if ((await read(viewer, jobId)) === null) return [];
      return workspace().archive.walkDifferences(jobId, path);
    },
    async run(viewer, { patch, parsed, mode, atomic = false, source }) {
      const abort = new AbortController();
      const noted: Promise<void>[] = [];
      const ids = new Set<string>();
      const result = await workspace().execute({
        patch,
        ...(parsed !== undefined && { parsed }),
        source,
        startedBy: "user",
        groupId: `${source}_${deps.now().getTime()}_${viewer.userId}`,
        dryRun: mode === "dry-run",
        preview: mode === "preview",
        atomic,
        signal: abort.signal,
        onStart: (jobId) => {
          ids.add(jobId);
          running.set(jobId, abort);
          noted.push(note(viewer, jobId));
          bus.publish({ type: "job", jobId });
        },
        onOutput: (output) => {
          for (const jobId of ids) bus.publish({ type: "job", jobId, output });
        },
        onEvent: () => {
          for (const jobId of ids) bus.publish({ type: "job", jobId });
        },
      });
      if (result.about === "job" && result.outcome !== "dry-run") noted.push(note(viewer, result.jobId));
      await Promise.all(noted);
      for (const jobId of ids) {
        running.delete(jobId);
        tails.end(jobId);
        bus.publish({ type: "job", jobId });
      }
      return result;
    },
    async act(viewer, action, names, force = false) {
      if (action === "stop") return stopFacts(workspace(), names, await stop(viewer, names));
      const known = await Promise.all(names.split(" ").map((name) => read(viewer, name)));
      const jobIds = known.flatMap((one) => one?.job.jobId ?? []);
      const facts = await perform(
        action,
        jobIds.length === known.length ? jobIds.join(" ") : null,
        names,
        force,
      );
      for (const jobId of jobIds) bus.publish({ type: "job", jobId });
      return facts;
    },
    async applyRest(viewer, name) {
      const jobId = (await read(viewer, name))?.job.jobId;
      if (jobId === undefined) return previewFacts(workspace(), name, { status: "unknown" });
      const rest = await applyRest(workspace(), jobId, AbortSignal.timeout(REST_MS));
      bus.publish({ type: "job", jobId });
      if (rest.status === "whole") return previewFacts(workspace(), jobId, rest.outcome);
      const { result, left } = rest;
      if (result.about === "refusal") return { about: "rest", facts: result, left };
      await note(viewer, result.jobId);
      return { about: "rest", facts: toPlainResult(result), left };
    },
    stopProcess,
  };

  /** `jobs`: their ids; null where the viewer does not know all of them by these names. */
  async function perform(
    action: Exclude<JobAction, "stop">,
    jobs: string | null,
    names: string,
    force: boolean,
  ): Promise<ActionFacts> {
    const here = workspace();
    const unknown = { status: "unknown", name: names } as const;
    const name = jobs ?? names;
    switch (action) {
      case "undo":
      case "redo": {
        const taken = jobs === null ? unknown : await here.takeBack({ direction: action, name, force });
        return takeBackFacts(here, action, taken);
      }
      case "apply":
        return previewFacts(here, name, jobs === null ? unknown : await here.commitPreview(name));
      case "discard":
        return discardFacts(here, name, jobs === null ? unknown : await here.discardPreview(name));
    }
  }

  async function listProcesses(): Promise<readonly BackgroundProcess[]> {
    return (await deps.processes?.())?.list() ?? [];
  }

  async function stopProcess(viewer: Viewer, id: string): Promise<ProcessStopped> {
    const found =
      viewer.role === "operator" ? (await listProcesses()).find((one) => one.id === id) : undefined;
    const processes = found === undefined ? undefined : await deps.processes?.();
    if (found === undefined || processes === undefined) return { status: "unknown", name: id };
    return processes.stop(found.name);
  }

  async function all(viewer: Viewer): Promise<readonly ViewedJob[]> {
    const jobs = workspace().archive.list().filter(isOwnJob);
    if (viewer.role === "operator") return jobs.map(viewed);
    const own = new Set(await ownIds(viewer, MOST_OWN));
    return jobs.filter(({ jobId }) => own.has(jobId)).map(viewed);
  }

  async function stop(viewer: Viewer, name: string): Promise<StopJobResult> {
    const agent = readAgentId(name);
    if (agent !== null) {
      const isKnown = (await read(viewer, agent.jobId)) !== null;
      return isKnown ? workspace().stop(resolveJobName(workspace(), name)) : { status: "unknown" };
    }
    const found = await read(viewer, name);
    if (found === null) return { status: "unknown" };
    const { job } = found;
    const { jobId } = job;
    if (job.state !== "running") return { status: "not-running", state: job.state };
    if (job.pid === undefined || !deps.isOwn(job.pid)) return workspace().stop(jobId);
    // One of ours: a signal would end all that the process does.
    const abort = running.get(jobId);
    if (abort !== undefined) abort.abort();
    else {
      const messageId = (await store.ownerOf(jobId))?.messageId ?? "";
      if (!deps.cancelMessage(messageId)) return { status: "not-running", state: job.state };
    }
    return { status: "stopped" };
  }

  function note({ channel, userId }: Viewer, jobId: string): Promise<void> {
    return store.noteJob({ jobId, channel, userId, messageId: null, at: deps.now().toISOString() });
  }
}
