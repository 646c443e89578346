import { createHash } from "node:crypto";
import { isCodePath } from "../../domain/checks/affected-tests.ts";
import {
  type CaseFile,
  findObstacle,
  type HistoryCase,
  isTestFile,
  type NotACase,
  readChangelogEntries,
} from "../../domain/history/case.ts";
import { decodeText } from "../../domain/jobs/file-bytes.ts";
import type {
  CaseMemory,
  CaseState,
  CommitLog,
  CommitRecord,
  CompareStore,
  JobStack,
} from "../ports/history.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import { type TakenEdit, ViewFault, type WorkspaceFiles } from "../ports/jobs-transaction.ts";
import { readReason } from "./find-why.ts";

export interface CaseDeps {
  readonly root: string;
  readonly stack: JobStack;
  readonly archive: JobArchive;
  readonly log: CommitLog;
  readonly store: CompareStore;
}

export interface FoundCase extends HistoryCase {
  /** Another content has another key: what was seen of it holds no longer. */
  readonly key: string;
  /** The files before the change. */
  readonly openState: () => Promise<CaseState | NotACase>;
}

export interface OtherChange {
  readonly id: string;
  readonly title: string;
  readonly why: NotACase;
}

export interface CaseList {
  /** Newest first. */
  readonly cases: readonly FoundCase[];
  readonly others: readonly OtherChange[];
}

/** The cases of a workspace by its jobs and its commits; nothing is run. */
export async function findCases(
  deps: CaseDeps,
  { commits }: { readonly commits: number },
): Promise<CaseList> {
  const memory = deps.store.readCases();
  const found = [...findJobCases(deps), ...(await findCommitCases(deps, commits))];
  const cases: FoundCase[] = [];
  const others: OtherChange[] = [];
  const jobs = new Map(found.filter(({ id }) => id.startsWith("job:")).map((one) => [testsKey(one), one.id]));
  for (const one of found.sort((x, y) => (x.at < y.at ? 1 : -1))) {
    const request = memory.requests[one.id] ?? one.request;
    const chosen = { ...one, request, key: keyOf(one) };
    const job =
      one.id.startsWith("commit:") && hiddenTests(one).size > 0 ? jobs.get(testsKey(one)) : undefined;
    const why = job === undefined ? await findReason(memory, chosen) : ({ code: "same", id: job } as const);
    if (why === null) cases.push(chosen);
    else others.push({ id: one.id, title: one.title, why });
  }
  return { cases, others };
}

const testsKey = (one: Pick<HistoryCase, "files">) => JSON.stringify([...hiddenTests(one)].sort());

type UnkeyedCase = Omit<FoundCase, "key"> & {
  /** Those of the words that the project had before the change. */
  readonly findWords: (words: readonly string[]) => Promise<ReadonlySet<string>>;
};

async function findReason(
  memory: CaseMemory,
  one: UnkeyedCase & { readonly key: string },
): Promise<NotACase | null> {
  if (memory.dropped.includes(one.id)) return { code: "dropped" };
  const isAdded = memory.added.includes(one.id);
  const obstacle = findObstacle(one);
  if (obstacle?.code === "unknown-names") {
    // A name that the rest of the project has is known, too.
    const words = await one.findWords(obstacle.names.filter((name) => !name.startsWith('"')));
    const names = obstacle.names.filter((name) => !words.has(name));
    if (names.length > 0 && !isAdded) return { code: "unknown-names", names };
  } else if (obstacle !== null && !(isAdded && obstacle.code !== "no-tests")) return obstacle;
  const seen = memory.seen[one.id];
  return seen?.ok === false && seen.key === one.key ? seen.why : null;
}

function keyOf({ files, request }: Pick<HistoryCase, "files" | "request">): string {
  const hash = createHash("sha256");
  for (const { path, before, after } of files) hash.update(JSON.stringify([path, before, after]));
  return hash.update(request).digest("hex").slice(0, 16);
}

async function findCommitCases({ log, root }: CaseDeps, limit: number): Promise<UnkeyedCase[]> {
  const commits = (await log.list(limit)).filter(({ paths }) => paths.length <= MOST_PATHS);
  const names = commits.flatMap(({ commit, parent, paths }) =>
    paths.flatMap((path) => [`${parent}:${path}`, `${commit}:${path}`]),
  );
  const texts = await log.read(names);
  return commits.map((one) => toCommitCase(one, texts, { root, log }));
}

/** Commits with more files are moves, or the first of a project. */
const MOST_PATHS = 60;

function toCommitCase(
  { commit, parent, at, message, paths }: CommitRecord,
  texts: ReadonlyMap<string, string | null>,
  { root: repository, log }: Pick<CaseDeps, "root" | "log">,
): UnkeyedCase {
  const files = paths.map((path) => ({
    path,
    before: texts.get(`${parent}:${path}`) ?? null,
    after: texts.get(`${commit}:${path}`) ?? null,
  }));
  const [title = "", ...body] = message.split("\n");
  const entries = readChangelogEntries(files);
  const request = [title, body.join("\n").trim(), entries].filter((part) => part !== "").join("\n\n");
  const openState = async () => ({ repository, commit: parent });
  return {
    id: `commit:${commit.slice(0, 12)}`,
    title,
    request,
    producer: null,
    at,
    files,
    findWords: (words) => log.findWords(parent, words),
    openState,
  };
}

/** The jobs of one message that are part of the workspace, as places of the stack. */
interface Group {
  readonly places: readonly number[];
  readonly record: StoredJob;
}

function findJobCases(deps: CaseDeps): UnkeyedCase[] {
  const { stack, archive } = deps;
  const byGroup = Map.groupBy(stack.jobs.keys(), (place) => stack.jobs[place]?.groupId ?? "");
  const groups: Group[] = [];
  for (const places of byGroup.values()) {
    const record = archive.read(stack.jobs[places[0] ?? 0]?.jobId ?? "");
    if (record !== null) groups.push({ places, record });
  }
  const cases = groups.flatMap((group) => {
    const { request = "" } = group.record;
    return request === ""
      ? []
      : [
          toJobCase(deps, group, {
            id: `job:${group.record.jobId}`,
            request: withEarlier(groups, group.record),
          }),
        ];
  });
  return [...cases, ...findUnsolved(deps, groups)];
}

/** Requests whose job failed or was taken back, and that a later job with tests fulfilled. */
function findUnsolved(deps: CaseDeps, groups: readonly Group[]): UnkeyedCase[] {
  const standing = new Set(deps.stack.jobs.map(({ jobId }) => jobId));
  return deps.archive.list().flatMap((failed) => {
    const { request = "", changes, createdAt } = failed;
    if (standing.has(failed.jobId) || request === "" || changes.length === 0) return [];
    const paths = new Set(changes.map(({ path }) => path));
    const later = groups.find(
      ({ record, places }) =>
        record.createdAt > createdAt &&
        places.some((place) => deps.stack.jobs[place]?.paths.some((path) => paths.has(path))),
    );
    return later === undefined
      ? []
      : [
          toJobCase(deps, later, {
            id: `job:${failed.jobId}+${later.record.jobId}`,
            request: withEarlier(groups, failed),
          }),
        ];
  });
}

function toJobCase(
  deps: CaseDeps,
  group: Group,
  about: { readonly id: string; readonly request: string },
): UnkeyedCase {
  const { stack } = deps;
  const files = new Map<string, CaseFile>();
  let isGone = false;
  for (const place of group.places)
    for (const { path, before, after } of stack.differences(place)) {
      if (path.startsWith(".git/")) continue;
      isGone ||= before === undefined || after === undefined;
      const known = files.get(path);
      files.set(path, {
        path,
        before: known === undefined ? toText(before) : known.before,
        after: toText(after),
      });
    }
  isGone ||= group.places.some((place) => stack.jobs[place]?.known === false);
  const producer = /\(([^()]+)\)$/.exec(readReason(deps, group.record.jobId).by)?.[1] ?? null;
  const openState = async () =>
    isGone ? ({ code: "gone" } as const) : keepJobState(deps, group, [...files.values()]);
  return {
    ...about,
    title: group.record.title,
    producer,
    at: group.record.createdAt,
    files: [...files.values()],
    findWords: async (words) => findWordsIn(stack.openBefore(group.places[0] ?? 0).files, words),
    openState,
  };
}

const toText = (bytes: Uint8Array | null | undefined) => (bytes == null ? null : decodeText(bytes));

/** Earlier requests of the same conversation that a request carries: it may lean on them. */
const MOST_EARLIER = 3;

function withEarlier(groups: readonly Group[], { groupId, request = "", createdAt }: StoredJob): string {
  const chat = groupId.slice(0, groupId.lastIndexOf("#") + 1);
  const earlier = groups
    .filter(({ record }) => chat !== "" && record.groupId.startsWith(chat) && record.createdAt < createdAt)
    .slice(-MOST_EARLIER)
    .flatMap(({ record }) =>
      record.request === undefined ? [] : [`> ${record.request.replaceAll("\n", "\n> ")}`],
    );
  return earlier.length === 0
    ? request
    : `${request}\n\nEarlier in this conversation (done):\n${earlier.join("\n")}`;
}

/** The state before a group of jobs as a commit: the base that git had, with the files of all jobs up to then. */
async function keepJobState(
  { stack, log, store }: CaseDeps,
  { places, record }: Group,
  files: readonly CaseFile[],
): Promise<CaseState | NotACase> {
  const [first = 0] = places;
  const state = stack.openBefore(first);
  const own = new Set(places.map((place) => stack.jobs[place]?.jobId));
  if (state.handEdits.some(({ after, before }) => own.has(after) && before !== null && own.has(before)))
    return { code: "changed-by-hand" };
  const solved = new Map(
    files.flatMap(({ path, after }) => (after === null ? [] : [[path, after] as const])),
  );
  const base = await log.findBase(record.createdAt, solved);
  const touched = [...new Set([...stack.jobs.flatMap(({ paths }) => paths), ...state.changed])];
  try {
    const edits =
      base === null
        ? [...walkProject(state.files, "")]
        : touched.flatMap((path) => [...walkProject(state.files, path)]);
    return await store.keepState(record.jobId, base, edits);
  } catch (error) {
    if (error instanceof ViewFault) return { code: "gone" };
    throw error;
  }
}

/** Folders that a state leaves out: git's own, dependencies, and what builds and tests leave behind. */
const LEFT_OUT =
  /(?:^|\/)(?:\.git|node_modules|\.venv|venv|vendor|target|dist|build|out|coverage|__pycache__|\.\w+_cache|\.tox|\.nyc_output)(?:\/|$)/;

function* walkProject(files: WorkspaceFiles, path: string): Generator<TakenEdit> {
  if (LEFT_OUT.test(path)) return;
  const entry = path === "" ? ({ kind: "directory", mode: 0o755 } as const) : files.look(path);
  if (entry.kind === "directory")
    for (const name of files.list(path)) yield* walkProject(files, path === "" ? name : `${path}/${name}`);
  else if (entry.kind !== "other")
    yield { path, entry, bytes: entry.kind === "file" ? files.read(path) : null };
}

/** Code files that are read for the words of one case. */
const MOST_READ = 5_000;

function findWordsIn(files: WorkspaceFiles, words: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  let read = 0;
  for (const { path, bytes } of walkProject(files, "")) {
    if (bytes === null || !isCodePath(path)) continue;
    const text = new TextDecoder().decode(bytes);
    for (const word of words) if (text.includes(word)) found.add(word);
    read += 1;
    if (found.size === words.length || read === MOST_READ) break;
  }
  return found;
}

/** The tests of a case, which a contestant never sees. */
export function hiddenTests({ files }: Pick<HistoryCase, "files">): ReadonlyMap<string, string> {
  return new Map(files.filter(isTestFile).map(({ path, after }) => [path, after ?? ""]));
}
