import { expect, test } from "bun:test";
import { type CaseRoom, type Contestant, seeCase } from "../../../src/application/history/case-room.ts";
import {
  type CompareEvent,
  type CompareResult,
  chooseOrder,
  playComparison,
  toResult,
} from "../../../src/application/history/compare.ts";
import type { FoundCase } from "../../../src/application/history/find-cases.ts";
import type { CaseMemory, CompareStore, PlayRecord } from "../../../src/application/ports/history.ts";
import defaults from "../../../src/config/defaults.json";

/** A store in memory; `plays` is what a comparison left. */
function createStore(plays: PlayRecord[] = []): CompareStore & { readonly plays: PlayRecord[] } {
  let cases: CaseMemory = { added: [], dropped: [], requests: {}, issues: {}, seen: {} };
  let isHeld = false;
  return {
    plays,
    readCases: () => cases,
    keepCases: (memory) => {
      cases = memory;
    },
    keepState: async () => ({ repository: "", commit: "" }),
    addPlay: (_, play) => void plays.push(play),
    readPlays: () => plays.filter(({ failure }) => failure === null),
    spentUsd: () => plays.reduce((sum, { usd }) => sum + (usd ?? 0), 0),
    listRuns: () => ["run"],
    async hold(_, use) {
      if (isHeld) return "busy";
      isHeld = true;
      try {
        return await use();
      } finally {
        isHeld = false;
      }
    },
  };
}

const contestant = (name: string): Contestant => ({
  name,
  command: "/code1",
  worker: `p/${name}`,
  settings: {},
});
const caseOf = (id: string, producer: string | null = null): FoundCase => ({
  id,
  title: id,
  request: "Use token-of-mine",
  producers: producer === null ? [] : [producer],
  at: "",
  files: [],
  key: id,
  openState: async () => ({ code: "gone" }),
  readRequest: async () => "Use token-of-mine",
});

/** Plays cost as much as they say, and never reach a judge: they change nothing. */
function setUp(
  usd: number | null,
  failure: (name: string) => string | { readonly code: "budget" } | null = () => null,
) {
  const store = createStore();
  const cases = ["a", "b", "c", "d"].map((id) => caseOf(id, id === "a" ? "p/one" : null));
  store.keepCases({
    ...store.readCases(),
    seen: Object.fromEntries(
      cases.map(({ id }) => [id, { key: id, ok: true, line: "true", seconds: 1 } as const]),
    ),
  });
  let [open, most] = [0, 0];
  const budgets: (number | null)[] = [];
  const requests = new Set<string>();
  const buildRoom = async (): Promise<CaseRoom> => {
    open += 1;
    most = Math.max(most, open);
    return {
      play: async ({ name }, request, { budgetUsd }) => {
        requests.add(request);
        budgets.push(budgetUsd);
        const why = failure(name);
        return {
          done: true,
          checked: false,
          requests: 1,
          tokens: 10,
          usd: typeof why === "string" ? 0 : usd,
          seconds: 1,
          failure: why,
          differences: [],
        };
      },
      close: async () => {
        open -= 1;
      },
    } as Partial<CaseRoom> as CaseRoom;
  };
  const events: CompareEvent[] = [];
  const run = (more: { budgetUsd?: number; signal?: AbortSignal } = {}) =>
    playComparison(
      { store, buildRoom, now: () => new Date(0), mask: (text) => text.replace("token-of-mine", "***") },
      {
        run: "run",
        contestants: [contestant("one"), contestant("two")],
        cases,
        limit: 10,
        repeat: 2,
        budgetUsd: 100,
        atOnce: 2,
        signal: new AbortController().signal,
        onEvent: (event) => void events.push(event),
        ...more,
      },
    );
  return { store, run, events, budgets, requests, rooms: () => ({ open, most }) };
}

/** A room whose judge ends in this way, run by run; null: it cannot be run. */
function judgedRoom(ends: (number | null)[]): CaseRoom {
  const draft = {
    takeIn: async () => null,
    discard: async () => {},
    check: async () => {
      const exitCode = ends.shift();
      if (exitCode == null) return { ok: false, why: "unavailable", message: "no space left" };
      const whole = exitCode === 0 ? "1 passed" : "1 failed";
      return { ok: true, runs: [{ exitCode, output: whole, whole, durationMs: 10 }] };
    },
  };
  const files = {
    list: () => ["package.json", "test"],
    look: (path: string) => ({ kind: path === "package.json" ? "file" : "missing", size: 50, mode: 0o644 }),
    read: () => new TextEncoder().encode('{ "scripts": { "test": "node --test" } }'),
  };
  return {
    workspace: { openDraft: async () => ({ ok: true, draft }), files },
    checks: { settings: { ...defaults.checks }, memory: { read: () => null, write: () => {} } },
    close: async () => {},
  } as unknown as CaseRoom;
}

test.each([
  ["red before and green with the change, twice", [0, 1, 0], { ok: true }],
  ["green without the change", [0, 0], { why: { code: "green-before" } }],
  ["green once and red the next time", [0, 1, 1], { why: { code: "flaky" } }],
  ["red with the change", [1, 1, 1, 1], { why: { code: "red-after" } }],
  ["not run", [null], { why: { code: "cannot-run", output: "no space left" } }],
] as const)("a judge that is %s", async (_, ends, seen) => {
  const found = {
    ...caseOf("a"),
    files: [{ path: "test/a.test.js", before: null, after: "test();\n" }],
  };
  expect(await seeCase(judgedRoom([...ends]), found, new AbortController().signal)).toMatchObject(seen);
});

const endOf = (result: CompareResult | "busy") => (result === "busy" ? result : result.end);

test("everyone plays each case as often as asked, except the cases that are its own work", async () => {
  const { store, run, rooms, requests } = setUp(0.1);
  expect(endOf(await run())).toBe("finished");
  expect([...requests]).toEqual(["Use ***"]);
  const count = (name: string, id: string) =>
    store.plays.filter((play) => play.contestant === name && play.case === id).length;
  expect(["a", "b", "c", "d"].map((id) => [count("one", id), count("two", id)])).toEqual([
    [0, 2],
    [2, 2],
    [2, 2],
    [2, 2],
  ]);
  expect(rooms().open).toBe(0);
});

test("what a play cost that reached the budget counts when the same words continue", async () => {
  const { store, run, budgets } = setUp(5, () => ({ code: "budget" }));
  expect(endOf(await run({ budgetUsd: 5 }))).toBe("budget");
  const played = budgets.length;
  expect(endOf(await run({ budgetUsd: 5 }))).toBe("budget");
  expect(budgets).toHaveLength(played);
  expect(store.readPlays("run")).toEqual([]);
});

test("it stops at the budget, each play has its share of the rest, and the same words continue it", async () => {
  const { store, run, budgets } = setUp(1);
  expect(endOf(await run({ budgetUsd: 5 }))).toBe("budget");
  const spent = store.plays.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  expect(spent).toBeGreaterThanOrEqual(5);
  expect(spent).toBeLessThanOrEqual(6);
  expect(budgets.every((budget) => budget !== null && budget <= 5)).toBe(true);
  const before = store.plays.length;
  expect(endOf(await run({ budgetUsd: 5 }))).toBe("budget");
  expect(store.plays).toHaveLength(before);
  expect(endOf(await run())).toBe("finished");
  expect(new Set(store.plays.map((play) => `${play.contestant} ${play.case} ${play.repeat}`)).size).toBe(
    store.plays.length,
  );
  expect(store.plays).toHaveLength(14);
});

test("a contestant whose provider refuses is given up, and its plays are left for the next time", async () => {
  const { store, run, events } = setUp(0.1, (name) => (name === "two" ? "no key" : null));
  await run();
  expect(store.plays.every((play) => play.contestant === "one")).toBe(true);
  expect(events.filter(({ type }) => type === "not-played").length).toBeLessThanOrEqual(4);
});

test("a second process with the same comparison is refused with the reason, and a stop keeps the finished plays", async () => {
  const { run, store } = setUp(0.1);
  const [first, second] = await Promise.all([run(), run()]);
  expect([endOf(first), endOf(second)].sort()).toEqual(["busy", "finished"]);
  const stopped = setUp(0.1);
  expect(endOf(await stopped.run({ signal: AbortSignal.abort() }))).not.toBe("finished");
  expect(store.plays.length).toBe(14);
});

test("the estimate is what earlier plays took", async () => {
  const { run, events, store } = setUp(0.5);
  await run({ budgetUsd: 3 });
  expect(events.find(({ type }) => type === "estimate")).toEqual({
    type: "estimate",
    plays: 14,
    usd: null,
    seconds: null,
  });
  events.length = 0;
  const left = 14 - store.plays.length;
  await run();
  expect(events.find(({ type }) => type === "estimate")).toEqual({
    type: "estimate",
    plays: left,
    usd: left * 0.5,
    seconds: left / 2,
  });
});

const plays = (name: string, cases: number, solved: number, usd: number) =>
  Array.from(
    { length: cases },
    (_, n): PlayRecord => ({
      contestant: name,
      case: `case ${n}`,
      repeat: 0,
      at: "",
      solved: n < solved,
      done: true,
      checked: true,
      requests: 1,
      tokens: 1,
      usd,
      seconds: 1,
      diff: "",
      failure: null,
    }),
  );

const orderOf = (list: readonly PlayRecord[]) => {
  const contestants = [...new Set(list.map(({ contestant: name }) => name))].map((name) => ({ name }));
  return chooseOrder(toResult("run", "finished", list, { contestants }))?.map(({ name }) => name) ?? null;
};

test("the cheapest that is good enough is first; too few cases, or a clear loss, adopt nothing of it", () => {
  expect(orderOf([...plays("cheap", 20, 18, 0.1), ...plays("dear", 20, 18, 1)])).toEqual(["cheap", "dear"]);
  expect(orderOf([...plays("cheap", 12, 11, 0.1), ...plays("dear", 12, 11, 1)])).toBe(null);
  expect(orderOf([...plays("cheap", 20, 8, 0.1), ...plays("dear", 20, 18, 1)])).toEqual(["dear", "cheap"]);
  expect(orderOf([...plays("cheap", 20, 19, 0.1), ...plays("dear", 20, 18, 1)])).toEqual(["cheap", "dear"]);
  expect(orderOf(plays("alone", 20, 18, 0.1))).toBe(null);
  expect(orderOf([])).toBe(null);
});
