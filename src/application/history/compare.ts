import type { NotACase } from "../../domain/history/case.ts";
import {
  comparePairs,
  type Interval,
  isNonInferior,
  type PairedComparison,
  wilsonInterval,
} from "../../domain/history/statistics.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { type JsonObject, mergeObjects } from "../../domain/platform/json-members.ts";
import { diffText } from "../jobs/job-facts.ts";
import type { CompareStore, PlayFailure, PlayRecord, PlayResult } from "../ports/history.ts";
import { type BuildRoom, type Contestant, judgePlay, seeCase, UNPLAYED } from "./case-room.ts";
import type { FoundCase, OtherChange } from "./find-cases.ts";

export interface CompareDeps {
  readonly store: CompareStore;
  readonly buildRoom: BuildRoom;
  readonly now: () => Date;
  readonly mask: (text: string) => string;
}

export interface CompareRequest {
  /** Names the comparison: the same words continue it. */
  readonly run: string;
  readonly contestants: readonly Contestant[];
  readonly cases: readonly FoundCase[];
  /** Cases that are wanted. */
  readonly limit: number;
  readonly repeat: number;
  readonly budgetUsd: number;
  readonly atOnce: number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: CompareEvent) => void;
}

export type CompareEvent =
  | {
      readonly type: "seen";
      readonly id: string;
      readonly title: string;
      /** Null: it counts. */
      readonly why: NotACase | null;
      readonly found: number;
    }
  | {
      readonly type: "estimate";
      readonly plays: number;
      readonly usd: number | null;
      readonly seconds: number | null;
    }
  | { readonly type: "played"; readonly play: PlayRecord; readonly left: number; readonly spentUsd: number }
  | {
      readonly type: "not-played";
      readonly contestant: string;
      readonly id: string;
      readonly failure: PlayFailure;
    }
  /** It failed so often in a row that it is asked no more. */
  | { readonly type: "given-up"; readonly contestant: string; readonly failures: number };

export interface ContestantResult extends Pick<PlayResult, "requests" | "tokens" | "usd" | "seconds"> {
  readonly name: string;
  readonly cases: number;
  readonly plays: number;
  readonly solved: number;
  /** Solved, and its own checks had passed. */
  readonly verified: number;
  readonly falseDone: number;
  /** Wilson's, of the solved plays. */
  readonly interval: Interval;
}

export interface CompareResult {
  readonly run: string;
  /** `missing`: some plays could not be made, and the same words try them again. */
  readonly end: "finished" | "missing" | "budget" | "stopped" | "no-cases";
  readonly contestants: readonly ContestantResult[];
  readonly pairs: readonly (PairedComparison & { readonly one: string; readonly other: string })[];
  /** Cases that not all of their contestants solved, with what each did. */
  readonly differing: readonly { readonly case: string; readonly plays: readonly PlayRecord[] }[];
  readonly notCounted: readonly OtherChange[];
}

/** Failures in a row after which a contestant is asked no more: no key, or a limit of its provider. */
const MOST_FAILURES = 3;

/** Plays each contestant on each case. What was played before is not played again. */
export async function playComparison(
  deps: CompareDeps,
  request: CompareRequest,
): Promise<CompareResult | "busy"> {
  return deps.store.hold(request.run, async () => {
    const rooms = createRooms(deps);
    try {
      const { cases, notCounted } = await chooseCases(deps, rooms, request);
      const end = cases.length === 0 ? "no-cases" : await playAll(deps, rooms, request, cases);
      return toResult(request.run, end, deps.store.readPlays(request.run), {
        contestants: request.contestants,
        notCounted,
      });
    } finally {
      await rooms.closeAll();
    }
  });
}

/** Sees cases, newest first, until so many judge. */
export async function seeCases(
  deps: CompareDeps,
  request: Pick<CompareRequest, "cases" | "limit" | "signal" | "onEvent">,
): Promise<void> {
  const rooms = createRooms(deps);
  await chooseCases(deps, rooms, request).finally(rooms.closeAll);
}

function createRooms({ buildRoom }: CompareDeps) {
  const open = new Map<string, ReturnType<BuildRoom>>();
  const close = async (id: string) => {
    const room = await open.get(id);
    open.delete(id);
    if (room !== undefined && "close" in room) await room.close();
  };
  return {
    get(found: FoundCase) {
      const known = open.get(found.id) ?? buildRoom(found);
      open.set(found.id, known);
      return known;
    },
    close,
    closeAll: async () => {
      for (const id of [...open.keys()]) await close(id);
    },
  };
}

type Rooms = ReturnType<typeof createRooms>;
type JudgedCase = FoundCase & { readonly line: string };

/** Reasons of this moment: a full disk, dependencies that are not installed. */
const MAY_CHANGE: readonly NotACase["code"][] = ["cannot-run", "no-runner"];

async function chooseCases(
  { store }: CompareDeps,
  rooms: Rooms,
  { cases, limit, signal, onEvent }: Pick<CompareRequest, "cases" | "limit" | "signal" | "onEvent">,
) {
  const chosen: JudgedCase[] = [];
  const notCounted: OtherChange[] = [];
  for (const found of cases) {
    if (chosen.length >= limit || signal.aborted) break;
    const known = store.readCases().seen[found.id];
    let seen = known?.key === found.key ? known : null;
    if (seen === null) {
      const room = await rooms.get(found);
      seen = "code" in room ? { key: found.key, ok: false, why: room } : await seeCase(room, found, signal);
      if (signal.aborted) break;
      // Others may keep something meanwhile.
      const memory = store.readCases();
      if (seen.ok || !MAY_CHANGE.includes(seen.why.code))
        store.keepCases({ ...memory, seen: { ...memory.seen, [found.id]: seen } });
      await rooms.close(found.id);
    }
    if (seen.ok) chosen.push({ ...found, line: seen.line });
    else notCounted.push({ id: found.id, title: found.title, why: seen.why });
    const why = seen.ok ? null : seen.why;
    onEvent({ type: "seen", id: found.id, title: found.title, why, found: chosen.length });
  }
  return { cases: chosen, notCounted };
}

interface DuePlay {
  readonly contestant: Contestant;
  readonly found: JudgedCase;
  readonly repeat: number;
}

async function playAll(
  deps: CompareDeps,
  rooms: Rooms,
  request: CompareRequest,
  cases: readonly JudgedCase[],
): Promise<CompareResult["end"]> {
  const { store } = deps;
  const { run, contestants, repeat: repeats, atOnce, budgetUsd, signal, onEvent } = request;
  const played = store.readPlays(run);
  const isPlayed = (due: DuePlay) =>
    played.some(
      (one) =>
        one.contestant === due.contestant.name && one.case === due.found.id && one.repeat === due.repeat,
    );
  const due = cases
    .flatMap((found) =>
      contestants
        // A contestant's own work does not count for it or against it.
        .filter(({ worker }) => !found.producers.includes(worker))
        .flatMap((contestant) =>
          Array.from({ length: repeats }, (_, repeat): DuePlay => ({ contestant, found, repeat })),
        ),
    )
    .filter((one) => !isPlayed(one));
  onEvent({ type: "estimate", plays: due.length, ...estimate(store, due, atOnce) });
  const waiting = [...due];
  const left = new Map<string, number>();
  for (const { found } of due) left.set(found.id, (left.get(found.id) ?? 0) + 1);
  const failures = new Map<string, number>();
  let spent = store.spentUsd(run);
  let running = 0;
  let [isOver, isMissing] = [false, false];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { contestant, found } = next;
      if (signal.aborted) return;
      if (spent >= budgetUsd) {
        isOver = true;
        return;
      }
      if ((failures.get(contestant.name) ?? 0) < MOST_FAILURES) {
        running += 1;
        const budget = (budgetUsd - spent) / running;
        const play = await playOnce(deps, rooms, next, { budgetUsd: budget, signal });
        running -= 1;
        if (signal.aborted) return;
        spent += play.usd ?? 0;
        const name = contestant.name;
        if (play.failure === null || (play.usd ?? 0) > 0) store.addPlay(run, play);
        if (play.failure === null) {
          failures.set(name, 0);
          onEvent({ type: "played", play, left: waiting.length + running, spentUsd: spent });
        } else {
          const isSpent = play.failure.code === "budget";
          isOver ||= isSpent;
          isMissing = true;
          const count = (failures.get(name) ?? 0) + (isSpent ? 0 : 1);
          failures.set(name, count);
          onEvent({ type: "not-played", contestant: name, id: found.id, failure: play.failure });
          if (!isSpent && count === MOST_FAILURES)
            onEvent({ type: "given-up", contestant: name, failures: count });
        }
      }
      const rest = (left.get(found.id) ?? 1) - 1;
      left.set(found.id, rest);
      if (rest === 0) await rooms.close(found.id);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, work));
  return signal.aborted ? "stopped" : isOver ? "budget" : isMissing ? "missing" : "finished";
}

async function playOnce(
  { now, mask }: CompareDeps,
  rooms: Rooms,
  { contestant, found, repeat }: DuePlay,
  limits: { readonly budgetUsd: number; readonly signal: AbortSignal },
): Promise<PlayRecord> {
  const about = { contestant: contestant.name, case: found.id, repeat, at: now().toISOString() };
  const room = await rooms.get(found);
  const { differences, ...play } =
    "code" in room
      ? { ...UNPLAYED, failure: { code: "no-room", why: room } as const }
      : await room.play(contestant, mask(await found.readRequest()), limits);
  const isPlayed = play.failure === null && differences.length > 0;
  const judged =
    isPlayed && !("code" in room) && (await judgePlay(room, found, found.line, differences, limits.signal));
  const failure = judged === null ? ({ code: "no-judge" } as const) : play.failure;
  return { ...about, ...play, failure, solved: judged === true, diff: mask(await diffText(differences)) };
}

/** By what each contestant's earlier plays took, in this comparison or another; null where one has none. */
function estimate(store: CompareStore, due: readonly DuePlay[], atOnce: number) {
  const earlier = Map.groupBy(
    store.listRuns().flatMap((run) => store.readPlays(run)),
    ({ contestant }) => contestant,
  );
  const mean = (name: string, value: (play: PlayRecord) => number | null) => {
    const values = (earlier.get(name) ?? []).map(value).filter((one) => one !== null);
    return values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;
  };
  const sum = (value: (play: PlayRecord) => number | null) =>
    due.reduce<number | null>((all, { contestant }) => {
      const one = mean(contestant.name, value);
      return all === null || one === null ? null : all + one;
    }, 0);
  const seconds = sum((play) => play.seconds);
  return {
    usd: sum((play) => play.usd),
    seconds: seconds === null ? null : seconds / Math.max(1, Math.min(atOnce, due.length)),
  };
}

export function toResult(
  run: string,
  end: CompareResult["end"],
  plays: readonly PlayRecord[],
  {
    contestants,
    notCounted = [],
  }: {
    readonly contestants: readonly Pick<Contestant, "name">[];
    readonly notCounted?: readonly OtherChange[];
  },
): CompareResult {
  const own = (name: string) => plays.filter(({ contestant }) => contestant === name);
  const results = contestants.map(({ name }): ContestantResult => {
    const mine = own(name);
    const sum = (value: (play: PlayRecord) => number) => mine.reduce((all, play) => all + value(play), 0);
    const solved = mine.filter((play) => play.solved).length;
    return {
      name,
      cases: new Set(mine.map((play) => play.case)).size,
      plays: mine.length,
      solved,
      verified: mine.filter((play) => play.solved && play.checked).length,
      falseDone: mine.filter((play) => play.done && !play.solved).length,
      requests: sum(({ requests }) => requests),
      tokens: sum(({ tokens }) => tokens),
      usd: mine.some(({ usd }) => usd === null) ? null : sum(({ usd }) => usd ?? 0),
      seconds: sum(({ seconds }) => seconds),
      interval: wilsonInterval(solved, mine.length),
    };
  });
  const solvedBy = (name: string, id: string) =>
    own(name)
      .filter((play) => play.case === id)
      .map((play) => play.solved);
  const ids = [...new Set(plays.map((play) => play.case))];
  const pairs = contestants.flatMap(({ name: one }, at) =>
    contestants.slice(at + 1).map(({ name: other }) => ({
      one,
      other,
      ...comparePairs(ids.map((id) => ({ one: solvedBy(one, id), other: solvedBy(other, id) }))),
    })),
  );
  const differing = ids
    .map((id) => ({ case: id, plays: plays.filter((play) => play.case === id) }))
    .filter((one) => new Set(one.plays.map((play) => play.solved)).size > 1);
  return { run, end, contestants: results, pairs, differing, notCounted };
}

/** The cheapest contestant that is shown to be no worse than each other one, then the others by what they solved; null: too few cases. */
export function chooseOrder({ contestants, pairs }: CompareResult): readonly ContestantResult[] | null {
  const played = contestants.filter(({ plays }) => plays > 0);
  const isEnough = (one: ContestantResult) =>
    played.every((other) => {
      if (other === one) return true;
      const there = pairs.find((pair) => pair.one === one.name && pair.other === other.name);
      const back = pairs.find((pair) => pair.one === other.name && pair.other === one.name);
      if (there !== undefined) return isNonInferior(there);
      if (back === undefined) return false;
      const { low, high } = back.interval;
      return isNonInferior({ ...back, interval: { low: -high, high: -low } });
    });
  const perPlay = ({ usd, plays }: ContestantResult) => (usd ?? Number.POSITIVE_INFINITY) / plays;
  const share = ({ solved, plays }: ContestantResult) => solved / plays;
  const first = [...played].sort((x, y) => perPlay(x) - perPlay(y)).find(isEnough);
  if (first === undefined || played.length < 2) return null;
  return [first, ...played.filter((one) => one !== first).sort((x, y) => share(y) - share(x))];
}

export interface ContestantDeps {
  /** The configured model of each coder, as `provider/model`. */
  readonly coders: Readonly<Record<"coder1" | "coder2" | "coder3", string>>;
  readonly providers: readonly string[];
  readonly heads: readonly string[];
}

const CODERS = { coder1: "/code1", coder2: "/code2", coder3: "/code3" } as const;

/** Names that people know the coders by. */
const NAMED = { aka: "coder1", ao: "coder2", gin: "coder3" } as const;

/** The role of `coder2` or `Ao`; null for any other name. */
export function readCoder(name: string): keyof typeof CODERS | null {
  const lower = name.toLowerCase();
  const role = Object.hasOwn(NAMED, lower) ? NAMED[lower as keyof typeof NAMED] : lower;
  return Object.hasOwn(CODERS, role) ? (role as keyof typeof CODERS) : null;
}

/** `coder2`, `ao`, `claude/claude-sonnet-5-5` or `claude-code`, with settings behind commas: `gin,coder.attempts=2`. Null: unknown. */
export function readContestant(
  { coders, providers, heads }: ContestantDeps,
  word: string,
  sets: readonly string[],
): Contestant | null {
  const [name = "", ...own] = word.split(",");
  const settings = readSettings([...sets, ...own]);
  if (settings === null) return null;
  const lower = name.toLowerCase();
  const coder = readCoder(lower);
  if (coder !== null) return { name: word, command: CODERS[coder], worker: coders[coder], settings };
  if (heads.includes(lower)) return { name: word, command: `/head ${lower}`, worker: lower, settings };
  const slash = name.indexOf("/");
  const [provider, model] = [name.slice(0, slash), name.slice(slash + 1)];
  if (slash < 1 || model === "" || !providers.includes(provider)) return null;
  const roles = { coder3: { provider, model } };
  return { name: word, command: CODERS.coder3, worker: name, settings: mergeObjects(settings, { roles }) };
}

/** Null if one is not a setting. */
function readSettings(sets: readonly string[]): JsonObject | null {
  let all: JsonObject = {};
  for (const set of sets) {
    const equals = set.indexOf("=");
    if (equals < 1) return null;
    const text = set.slice(equals + 1);
    const value: unknown = attemptOr(text, () => JSON.parse(text));
    const keys = set.slice(0, equals).trim().split(".");
    all = mergeObjects(
      all,
      keys.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as JsonObject,
    );
  }
  return all;
}
