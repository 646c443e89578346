import { createHash } from "node:crypto";
import { type ChangedText, isCodePath } from "../../domain/checks/path-kinds.ts";
import {
  findObstacle,
  findPathObstacle,
  type HistoryCase,
  isSourcePath,
  isTestFile,
  NAME,
  type NotACase,
  readChangelogEntries,
} from "../../domain/history/case.ts";
import { decodeText } from "../../domain/platform/file-bytes.ts";
import type {
  CaseMemory,
  CaseState,
  CommitLog,
  CompareStore,
  EarlierTurn,
  JobStack,
  ReadIssue,
} from "../ports/history.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import { type TakenEdit, ViewFault, type WorkspaceFiles } from "../ports/platform-view.ts";
import { modelOf, readReason } from "./find-why.ts";

export interface CaseDeps {
  readonly root: string;
  readonly stack: JobStack;
  readonly archive: JobArchive;
  readonly files: WorkspaceFiles;
  readonly log: CommitLog;
  readonly store: CompareStore;
  /** The messages of a chat before the message of a group, oldest first. */
  readonly readTalk: (groupId: string) => Promise<readonly EarlierTurn[]>;
}

export interface FoundCase extends HistoryCase {
  /** Other content has another key, because earlier results no longer apply to it. */
  readonly key: string;
  readonly openState: () => Promise<CaseState | NotACase>;
  /** The request as a contestant gets it, with the conversation that it may refer to. */
  readonly readRequest: () => Promise<string>;
}

export interface OtherChange {
  readonly id: string;
  readonly title: string;
  readonly why: NotACase;
}

/** A change of which only the file names were read. */
interface FoundChange {
  readonly id: string;
  readonly title: string;
  readonly at: string;
  readonly paths: readonly string[];
  /** Of a commit: the contents that `read` needs. */
  readonly contents: readonly string[];
  /** The state before it: a place of the stack, or a commit. */
  readonly state: number | string;
  readonly read: (texts: ReadonlyMap<string, string | null>) => ReadChange;
}

type ReadChange = Pick<FoundCase, "request" | "producers" | "files" | "openState" | "readRequest">;

/** The cases of a workspace by its jobs and its commits; nothing is run, and only what may be a case is read. */
export async function findCases(deps: CaseDeps, { commits }: { readonly commits: number }) {
  const memory = deps.store.readCases();
  const found = [...findJobChanges(deps), ...(await findCommitChanges(deps, commits, memory))]
    .map((one) => ({ ...one, why: findEarlyReason(memory, one) }))
    .sort((x, y) => (x.at < y.at ? 1 : -1));
  const wanted = found.filter(({ why }) => why === null);
  const texts = await deps.log.read([...new Set(wanted.flatMap(({ contents }) => contents))]);
  const read = wanted.map(({ read: readChange, ...one }) => {
    const change = { ...one, ...readChange(texts) };
    const { [one.id]: edited } = memory.requests;
    const request = edited ?? change.request;
    const readRequest = edited === undefined ? change.readRequest : async () => edited;
    return {
      ...change,
      request,
      readRequest,
      key: keyOf(change),
      obstacle: findObstacle({ ...change, request }),
    };
  });
  const known = await findKnownWords(deps, read);
  const jobs = new Map(read.filter(({ id }) => id.startsWith("job:")).map((one) => [testsKey(one), one.id]));
  // Tests that were only removed do not show to which project part they belong.
  jobs.delete("");
  const cases: FoundCase[] = [];
  const others: OtherChange[] = found.flatMap(({ id, title, why }) =>
    why === null ? [] : [{ id, title, why }],
  );
  for (const { obstacle, paths: _, contents: __, state, why: ___, ...one } of read) {
    const job = one.id.startsWith("commit:") ? jobs.get(testsKey(one)) : undefined;
    const why =
      job === undefined
        ? findLateReason(memory, one, withoutKnown(obstacle, known.get(state)))
        : ({ code: "same", id: job } as const);
    if (why === null) cases.push(one);
    else others.push({ id: one.id, title: one.title, why });
  }
  return { cases, others };
}

const testsKey = (one: Pick<HistoryCase, "files">) => [...hiddenTests(one)].flat().sort().join("\0");

/** Reasons that are known without reading the change: a person dropped it, or its file names rule it out. */
function findEarlyReason(memory: CaseMemory, { id, paths }: FoundChange): NotACase | null {
  if (memory.dropped.includes(id)) return { code: "dropped" };
  const obstacle = findPathObstacle(paths);
  return obstacle?.code !== "no-tests" && memory.added.includes(id) ? null : obstacle;
}

function findLateReason(
  memory: CaseMemory,
  { id, key }: Pick<FoundCase, "id" | "key">,
  obstacle: NotACase | null,
): NotACase | null {
  if (obstacle !== null && (obstacle.code === "no-tests" || !memory.added.includes(id))) return obstacle;
  const seen = memory.seen[id];
  return seen?.ok === false && seen.key === key ? seen.why : null;
}

/** A name that the rest of the project had before the change is known, too. */
function withoutKnown(obstacle: NotACase | null, known: ReadonlySet<string> = new Set()): NotACase | null {
  if (obstacle?.code !== "unknown-names") return obstacle;
  const names = obstacle.names.filter((name) => !known.has(name));
  return names.length === 0 ? null : { code: "unknown-names", names };
}

async function findKnownWords(
  { stack, log, files }: CaseDeps,
  changes: readonly { readonly state: number | string; readonly obstacle: NotACase | null }[],
): Promise<ReadonlyMap<number | string, ReadonlySet<string>>> {
  const asked = changes.filter(({ obstacle }) => obstacle?.code === "unknown-names");
  const words = new Set(
    asked.flatMap(({ obstacle }) => (obstacle?.code === "unknown-names" ? obstacle.names : [])),
  );
  const states = asked.map(({ state }) => state);
  const commits = [...new Set(states.filter((state) => typeof state === "string"))];
  const places = new Set(states.filter((state) => typeof state === "number"));
  return new Map<number | string, ReadonlySet<string>>([
    ...(await log.findWords(commits, words)),
    ...findWordsAtPlaces(stack, files, places, words),
  ]);
}

/** Walks back from the current state, job by job; only files that a job changed are read again. */
function findWordsAtPlaces(
  stack: JobStack,
  files: WorkspaceFiles,
  places: ReadonlySet<number>,
  words: ReadonlySet<string>,
): Map<number, ReadonlySet<string>> {
  const known = new Map<number, ReadonlySet<string>>();
  if (places.size === 0) return known;
  const byPath = new Map<string, ReadonlySet<string>>();
  const counts = new Map<string, number>();
  const put = (path: string, bytes: Uint8Array | null) => {
    const text = bytes === null || !isCodePath(path) ? "" : new TextDecoder().decode(bytes);
    const now = new Set((text.match(NAME) ?? []).filter((word) => words.has(word)));
    for (const word of byPath.get(path) ?? []) counts.set(word, (counts.get(word) ?? 0) - 1);
    for (const word of now) counts.set(word, (counts.get(word) ?? 0) + 1);
    byPath.set(path, now);
  };
  let left = MOST_READ;
  for (const path of walkPaths(files, "")) {
    if (left === 0) break;
    if (!isCodePath(path) || files.look(path).kind !== "file") continue;
    left -= 1;
    put(path, files.read(path));
  }
  const first = Math.min(...places);
  for (let place = stack.jobs.length - 1; place >= first; place--) {
    for (const { path, before } of stack.differences(place)) if (before !== undefined) put(path, before);
    if (places.has(place))
      known.set(place, new Set([...counts].flatMap(([word, count]) => (count > 0 ? [word] : []))));
  }
  return known;
}

function keyOf({ files, request }: Pick<HistoryCase, "files" | "request">): string {
  const hash = createHash("sha256");
  for (const { path, before, after } of files)
    for (const text of [path, before, after]) hash.update(`${text?.length} `).update(text ?? "");
  return hash.update(request).digest("hex").slice(0, 16);
}

const [MOST_ISSUES, LONGEST_ISSUE] = [100, 4_000];

const linkedIssues = (message: string) =>
  [...message.matchAll(/(?<!\w)#(\d{1,6})\b/g)].map(([, number = ""]) => number);

/** Reads the issues that commits name and keeps their texts; how many, or null where the forge cannot be asked. */
export async function readLinkedIssues(
  { log, store }: CaseDeps,
  { commits }: { readonly commits: number },
  readIssue: ReadIssue,
): Promise<number | null> {
  const { issues } = store.readCases();
  const mayCount = (await log.list(commits)).filter(
    ({ changes }) => findPathObstacle(changes.map(({ path }) => path)) === null,
  );
  const numbers = new Set(mayCount.flatMap(({ message }) => linkedIssues(message)));
  const found: Record<string, string> = {};
  for (const number of [...numbers].filter((one) => issues[one] === undefined).slice(0, MOST_ISSUES)) {
    const text = await readIssue(Number(number));
    if (text === null) return null;
    found[number] = text.slice(0, LONGEST_ISSUE);
  }
  const memory = store.readCases();
  store.keepCases({ ...memory, issues: { ...memory.issues, ...found } });
  return Object.values(found).filter((text) => text !== "").length;
}

async function findCommitChanges(
  { log, root: repository }: CaseDeps,
  limit: number,
  { issues }: CaseMemory,
): Promise<FoundChange[]> {
  return (await log.list(limit)).map(({ commit, parent, at, message, changes }) => {
    const [title = "", ...body] = message.split("\n");
    return {
      id: `commit:${commit.slice(0, 12)}`,
      title,
      at,
      paths: changes.map(({ path }) => path),
      contents: changes.flatMap(({ before, after }) => [before, after].filter((name) => name !== null)),
      state: parent,
      read(texts) {
        const files = changes.map(({ path, before, after }) => ({
          path,
          before: texts.get(before ?? "") ?? null,
          after: texts.get(after ?? "") ?? null,
        }));
        const linked = linkedIssues(message).map((number) => issues[number] ?? "");
        const parts = [title, body.join("\n").trim(), readChangelogEntries(files), ...new Set(linked)];
        const request = parts.filter((part) => part !== "").join("\n\n");
        return {
          request,
          readRequest: async () => request,
          producers: [],
          files,
          openState: async () => ({ repository, commit: parent }),
        };
      },
    };
  });
}

interface Group {
  readonly places: readonly number[];
  readonly record: StoredJob;
}

type JobCaseDeps = CaseDeps & { readonly conversations: Conversations };

function findJobChanges(deps: CaseDeps): FoundChange[] {
  const { stack, archive } = deps;
  const byGroup = Map.groupBy(stack.jobs.keys(), (place) => stack.jobs[place]?.groupId ?? "");
  const groups: Group[] = [];
  for (const places of byGroup.values()) {
    const record = archive.read(stack.jobs[places[0] ?? 0]?.jobId ?? "");
    if (record !== null) groups.push({ places, record });
  }
  const sources = { ...deps, conversations: readConversations(groups) };
  const own = groups
    .filter(({ record }) => (record.request ?? "") !== "")
    .map((group) => toJobChange(sources, [group], { id: `job:${group.record.jobId}`, asked: group.record }));
  return [...own, ...findUnsolved(sources, groups), ...findCorrected(sources, groups)];
}

const pathsOf = ({ stack }: CaseDeps, { places }: Group) =>
  places.flatMap((place) => stack.jobs[place]?.paths ?? []);

/** Requests whose job failed or was undone, and that a later job with tests fulfilled. */
function findUnsolved(deps: JobCaseDeps, groups: readonly Group[]): FoundChange[] {
  const standing = new Set(deps.stack.jobs.map(({ jobId }) => jobId));
  const withTests = groups.filter((group) => findPathObstacle(pathsOf(deps, group)) === null);
  return deps.archive.list().flatMap((asked) => {
    if (standing.has(asked.jobId) || (asked.request ?? "") === "" || asked.changes.length === 0) return [];
    const paths = new Set(asked.changes.map(({ path }) => path));
    const later = withTests.find(
      (group) =>
        group.record.createdAt > asked.createdAt && pathsOf(deps, group).some((path) => paths.has(path)),
    );
    const id = `job:${asked.jobId}+${later?.record.jobId}`;
    return later === undefined ? [] : [toJobChange(deps, [later], { id, asked })];
  });
}

/** Requests whose job landed without tests, and whose lines a later job replaced and tested: both are the real change. */
function findCorrected(deps: JobCaseDeps, groups: readonly Group[]): FoundChange[] {
  const sourcesOf = (group: Group) => new Set(pathsOf(deps, group).filter(isSourcePath));
  const hasTests = groups.map((group) => findPathObstacle(pathsOf(deps, group)) === null);
  const testedAt = new Map<string, number[]>();
  for (const [at, group] of groups.entries())
    for (const path of hasTests[at] ? sourcesOf(group) : [])
      testedAt.set(path, [...(testedAt.get(path) ?? []), at]);
  return groups.flatMap((group, at) => {
    const { record: asked } = group;
    if ((asked.request ?? "") === "" || hasTests[at]) return [];
    const next = [...sourcesOf(group)].flatMap((path) => testedAt.get(path)?.find((one) => one > at) ?? []);
    const later = groups[Math.min(...next)];
    if (later === undefined || !replacesLines(deps, group, later)) return [];
    const id = `job:${asked.jobId}+${later.record.jobId}`;
    return [toJobChange(deps, [group, later], { id, asked })];
  });
}

function replacesLines({ stack }: CaseDeps, first: Group, second: Group): boolean {
  const written = new Map<string, ReadonlySet<string>>();
  const linesOf = (bytes: Uint8Array | null | undefined) =>
    new Set((toText(bytes) ?? "").split("\n").filter((line) => line.trim() !== ""));
  for (const place of first.places)
    for (const { path, before, after } of stack.differences(place))
      if (isSourcePath(path)) written.set(path, linesOf(after).difference(linesOf(before)));
  return second.places.some((place) =>
    [...stack.differences(place)].some(({ path, before, after }) => {
      const removed = linesOf(before).difference(linesOf(after));
      return !removed.isDisjointFrom(written.get(path) ?? new Set());
    }),
  );
}

function toJobChange(
  deps: JobCaseDeps,
  solving: readonly [Group, ...Group[]],
  { id, asked }: { readonly id: string; readonly asked: StoredJob },
): FoundChange {
  const { stack } = deps;
  const places = solving.flatMap((group) => group.places);
  const [{ record }] = solving;
  return {
    id,
    title: record.title,
    at: record.createdAt,
    paths: [...new Set(solving.flatMap((group) => pathsOf(deps, group)))],
    contents: [],
    state: places[0] ?? 0,
    read() {
      const files = new Map<string, ChangedText>();
      let isGone = places.some((place) => stack.jobs[place]?.known === false);
      for (const place of places)
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
      const change = [...files.values()];
      const jobs = [asked, ...solving.map((group) => group.record)];
      const request = withEarlier(deps.conversations, asked);
      return {
        request,
        readRequest: async () => withTalk(asked, await deps.readTalk(asked.groupId)) ?? request,
        producers: [...new Set(jobs.flatMap(({ jobId }) => modelOf(readReason(deps, jobId)) ?? []))],
        files: change,
        openState: async () => (isGone ? { code: "gone" } : keepJobState(deps, { places, record }, change)),
      };
    },
  };
}

const toText = (bytes: Uint8Array | null | undefined) => (bytes == null ? null : decodeText(bytes));

/** Earlier requests of the same conversation that are added to a request, because it may refer to them. */
const MOST_EARLIER = 3;

type Conversations = ReturnType<typeof readConversations>;

function readConversations(groups: readonly Group[]) {
  /** The groups of each chat, oldest first. */
  const chats = Map.groupBy(groups, ({ record }) => chatOf(record));
  const places = [...chats.values()].flatMap((chat) =>
    chat.map(({ record }, place) => [record.groupId, place] as const),
  );
  return { chats, places: new Map(places) };
}

const chatOf = ({ groupId }: StoredJob) => groupId.slice(0, groupId.lastIndexOf("#") + 1);

function withEarlier({ chats, places }: Conversations, asked: StoredJob): string {
  const { request = "", createdAt } = asked;
  const chat = chatOf(asked) === "" ? [] : (chats.get(chatOf(asked)) ?? []);
  const own = places.get(asked.groupId);
  const end = own ?? chat.findLastIndex(({ record }) => record.createdAt < createdAt) + 1;
  const earlier = chat
    .slice(Math.max(0, end - MOST_EARLIER), end)
    .flatMap(({ record }) =>
      record.request === undefined ? [] : [`> ${record.request.replaceAll("\n", "\n> ")}`],
    );
  return earlier.length === 0
    ? request
    : `${request}\n\nEarlier in this conversation (done):\n${earlier.join("\n")}`;
}

const LONGEST_TURN = 800;

function withTalk({ request = "" }: StoredJob, talk: readonly EarlierTurn[]): string | null {
  const turns = talk.map(({ agent, text }) => {
    const shown = text.length > LONGEST_TURN ? `${text.slice(0, LONGEST_TURN)} …` : text;
    return `${agent === "" ? "User" : agent}: ${shown}`.replaceAll(/^/gm, "> ");
  });
  return turns.length === 0 ? null : `${request}\n\nEarlier in this conversation:\n${turns.join("\n")}`;
}

/** The state before a group of jobs as a commit: the base that git had, with the files of all jobs up to then. */
async function keepJobState(
  { stack, log, store }: CaseDeps,
  { places, record }: Group,
  files: readonly ChangedText[],
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

/** Folders that a state leaves out: git's own, dependencies, and the output of builds and tests. */
const LEFT_OUT =
  /(?:^|\/)(?:\.git|node_modules|\.venv|venv|vendor|target|dist|build|out|coverage|__pycache__|\.\w+_cache|\.tox|\.nyc_output)(?:\/|$)/;

function* walkPaths(files: WorkspaceFiles, path: string): Generator<string> {
  if (LEFT_OUT.test(path)) return;
  const { kind } = path === "" ? ({ kind: "directory" } as const) : files.look(path);
  if (kind !== "directory") yield path;
  else for (const name of files.list(path)) yield* walkPaths(files, path === "" ? name : `${path}/${name}`);
}

function* walkProject(files: WorkspaceFiles, from: string): Generator<TakenEdit> {
  for (const path of walkPaths(files, from)) {
    const entry = files.look(path);
    if (entry.kind !== "other") yield { path, entry, bytes: entry.kind === "file" ? files.read(path) : null };
  }
}

/** Current code files that are read for the words of cases. */
const MOST_READ = 20_000;

/** The tests of a case, which a contestant never sees. */
export function hiddenTests({ files }: Pick<HistoryCase, "files">): ReadonlyMap<string, string> {
  return new Map(files.filter(isTestFile).map(({ path, after }) => [path, after ?? ""]));
}
