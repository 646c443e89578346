import { createHash } from "node:crypto";
import {
  type CompareEvent,
  type CompareResult,
  chooseOrder,
  playComparison,
  readCoder,
  readContestant,
  seeCases,
  toResult,
} from "../../application/history/compare.ts";
import { findCases, readLinkedIssues } from "../../application/history/find-cases.ts";
import { contestantCells, wordPair } from "../../application/history/word-why.ts";
import type { PlayFailure } from "../../application/ports/history.ts";
import type { OpenedCompare } from "../../application/ports/history-opened.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { csvText } from "../../domain/texts/format-text.ts";
import { type HistoryMessages, historyMessagesFor } from "../../domain/texts/history.ts";
import {
  abortable,
  type Flags,
  fail,
  maskedJson,
  printable,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
  succeed,
} from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { columnsOf } from "./terminal-text.ts";

/** `compare CONTESTANT…` plays coders on the workspace's own history; `compare cases [add|drop|edit]` lists its cases. */
export const command: Subcommand = {
  name: "compare",
  usage: "compare [cases|CONTESTANT…]",
  flags: "--cases= --commits= --see= --issues --repeat= --budget= --at-once= --set=* --adopt --csv",
  words: 64,
  run: compare,
};

const DEFAULTS = { cases: 12, commits: 200, repeat: 1, budget: 5, "at-once": 2 } as const;

type Opened = OpenedCompare & OpenedWorkspace;

/** One `compare …`, with the texts of its user's language. */
interface Asked {
  readonly program: CliProgram;
  readonly flags: Flags;
  readonly opened: Opened;
  readonly texts: HistoryMessages;
}

async function compare(program: CliProgram, flags: Flags): Promise<number> {
  const opened = await openOrStop(program, flags.values, program.openCompare);
  const texts = historyMessagesFor(opened.messages.locale);
  const asked: Asked = { program, flags, opened, texts };
  if (flags.words[0] === "cases") return tellCases(asked);
  const stop = (code: string, text: string, exitCode: 2 | 3 = EXIT.usage) =>
    fail(program, { exitCode, code, text });
  if (flags.words.length === 0) return tellLast(asked);
  if (opened.trouble !== null) return stop(opened.trouble, texts.noPlays[opened.trouble], EXIT.refused);
  const sets = String(flags.values.set ?? "")
    .split("\n")
    .filter((set) => set !== "");
  const known = await opened.contestants();
  const contestants = flags.words.map((word) => ({ word, contestant: readContestant(known, word, sets) }));
  const bad = contestants.find(({ contestant }) => contestant === null);
  if (bad !== undefined) return stop("contestant", texts.badContestant(bad.word));
  const keys = contestants.map(({ contestant }) => JSON.stringify({ ...contestant, name: "" }));
  const twice = contestants.find((_, at) => keys.indexOf(keys[at] ?? "") < at);
  if (twice !== undefined) return stop("contestant", texts.sameContestant(twice.word));
  const numbers = readNumbers(flags);
  if (numbers === null) return stop("usage", texts.compareUsage);
  const { cases } = await findCases(opened.cases(), { commits: numbers.commits });
  const result = await withStop((signal) =>
    playComparison(opened.compare, {
      run: nameRun(flags, numbers, opened.compare.now()),
      contestants: contestants.flatMap(({ contestant }) => contestant ?? []),
      cases,
      limit: numbers.cases,
      repeat: numbers.repeat,
      budgetUsd: numbers.budget,
      atOnce: numbers["at-once"],
      signal,
      onEvent: (event) => tellEvent(asked, event, numbers.budget),
    }),
  );
  if (result === "busy") return stop("busy", texts.compareBusy, EXIT.refused);
  if (result.end === "no-cases" && result.contestants.every(({ plays }) => plays === 0))
    return stop("no-cases", texts.noCases, EXIT.refused);
  tellResult(asked, result);
  if (flags.values.adopt === true) program.err(`${await adopt(opened, texts, result)}\n`);
  const isPlayed = result.contestants.some(({ plays }) => plays > 0);
  return result.end === "finished" && isPlayed ? EXIT.done : EXIT.failed;
}

/** The first Ctrl-C ends it well: what was played is kept. */
const withStop = <T>(use: (signal: AbortSignal) => Promise<T>) => abortable(use, ["SIGINT"]);

type Numbers = Readonly<Record<keyof typeof DEFAULTS, number>>;

function readNumbers({ values }: Flags): Numbers | null {
  const read = Object.entries(DEFAULTS).map(
    ([name, value]) => [name, Number(values[name] ?? value)] as const,
  );
  const isGood = ([name, value]: readonly [string, number]) =>
    value > 0 && (name === "budget" || Number.isInteger(value));
  return read.every(isGood) ? (Object.fromEntries(read) as Numbers) : null;
}

/** The month, and what is compared: the same words continue a comparison, and next month's is another. */
function nameRun({ words, values }: Flags, { cases, repeat }: Numbers, now: Date): string {
  const asked = JSON.stringify([[...words].sort(), values.set ?? "", cases, repeat]);
  return `${now.toISOString().slice(0, 7)}-${createHash("sha256").update(asked).digest("hex").slice(0, 8)}`;
}

function tellEvent({ program, texts, opened }: Asked, event: CompareEvent, budget: number): void {
  const text = wordEvent(texts, event, budget);
  if (!program.json) program.err(`${printable(opened.workspace.mask(text))}\n`);
}

function wordEvent(texts: HistoryMessages, event: CompareEvent, budget: number): string {
  switch (event.type) {
    case "seen":
      return texts.seeing(event.title, event.why === null ? null : texts.notACase(event.why), event.found);
    case "estimate":
      return texts.estimate(event.plays, event.usd, event.seconds, budget);
    case "played":
      return texts.played(
        event.play.contestant,
        event.play.case,
        event.play.solved,
        event.left,
        event.spentUsd,
      );
    case "not-played":
      return texts.notPlayed(event.contestant, event.id, wordFailure(texts, event.failure));
    case "given-up":
      return texts.givenUp(event.contestant, event.failures);
  }
}

function wordFailure(texts: HistoryMessages, failure: PlayFailure): string {
  switch (failure.code) {
    case "unanswered":
      return failure.text;
    case "cut-off":
      return texts.cutOff(failure.failure);
    case "no-room":
      return texts.notACase(failure.why);
    default:
      return texts.playFailure[failure.code];
  }
}

function tellResult({ program, opened, texts, flags }: Asked, result: CompareResult): void {
  const { store, mask } = opened.compare;
  if (program.json) {
    program.out(`${maskedJson(snakeCased(result), mask)}\n`);
    return;
  }
  const percent = (share: number) => `${Math.round(share * 100)}`;
  const rows = result.contestants.map((one) =>
    contestantCells(texts, one, ({ low, high }) => `${percent(low)}–${percent(high)}`),
  );
  if (flags.values.csv === true) {
    program.out(csvText([texts.compareHeader, ...rows]));
    return;
  }
  const pairs = result.pairs.filter(({ cases }) => cases > 0).map((pair) => wordPair(texts, pair));
  const differing = result.differing.map(
    ({ case: id, plays }) =>
      `  ${id}: ${plays.map(({ contestant, solved }) => `${solved ? "✓" : "✗"} ${contestant}`).join("  ")}`,
  );
  const names = new Set(result.contestants.map(({ name }) => name));
  const drift = store
    .listRuns()
    .filter((run) => run < result.run)
    .map((run) => ({ run, plays: store.readPlays(run).filter(({ contestant }) => names.has(contestant)) }))
    .filter(({ plays }) => plays.length > 0)
    .slice(0, 3)
    .map(({ run, plays }) => {
      const of = (name: string) => plays.filter(({ contestant }) => contestant === name);
      const shares = [...names].map(
        (name) => `${name} ${of(name).filter(({ solved }) => solved).length}/${of(name).length}`,
      );
      return texts.drift(run, shares.join(", "));
    });
  const lines = [
    columnsOf([texts.compareHeader, ...rows]),
    "",
    ...pairs,
    ...differing,
    ...drift,
    texts.compareEnd[result.end],
  ];
  program.out(`${printable(lines.filter((line, at) => line !== "" || at === 1).join("\n"))}\n`);
}

/** The last comparison once more. */
async function tellLast(asked: Asked): Promise<number> {
  const { program, opened, texts } = asked;
  const { store } = opened.compare;
  const [run] = store.listRuns();
  const plays = run === undefined ? [] : store.readPlays(run);
  if (run === undefined || plays.length === 0) return refuseUsage(program, texts.compareUsage);
  const contestants = [...new Set(plays.map(({ contestant }) => contestant))].map((name) => ({ name }));
  tellResult(asked, toResult(run, "finished", plays, { contestants }));
  return EXIT.done;
}

async function tellCases(asked: Asked): Promise<number> {
  const { program, opened, texts, flags } = asked;
  const [, action, id, ...words] = flags.words;
  const { store } = opened.compare;
  const commits = readNumbers(flags)?.commits ?? DEFAULTS.commits;
  if (flags.values.issues === true) {
    const read = await readLinkedIssues(opened.cases(), { commits }, opened.readIssue);
    program.err(`${texts.issuesRead(read)}\n`);
  }
  const { cases, others } = await findCases(opened.cases(), { commits });
  if (action === "add" || action === "drop" || action === "edit") {
    const isKnown = [...cases, ...others].some((one) => one.id === id);
    const request = words.join(" ").trim();
    if (id === undefined || !isKnown || (action === "edit" && request === ""))
      return refuseInput(program, "unknown-case", texts.caseUnknown(id ?? ""));
    const memory = store.readCases();
    const without = (ids: readonly string[]) => ids.filter((one) => one !== id);
    const { [id]: _, ...seen } = memory.seen;
    store.keepCases({
      ...memory,
      dropped: without(memory.dropped),
      // An added case is seen again.
      ...(action === "add" && { added: [...without(memory.added), id], seen }),
      ...(action === "drop" && { added: without(memory.added), dropped: [...without(memory.dropped), id] }),
      ...(action === "edit" && { requests: { ...memory.requests, [id]: request } }),
    });
    // An added case keeps its files even if the quota evicts the job later.
    if (action === "add") await cases.find((one) => one.id === id)?.openState();
    return succeed(program, { id, action }, `${id}: ${texts.caseChanged[action]}`);
  }
  if (action !== undefined) return refuseUsage(program, texts.compareUsage);
  const see = Number(flags.values.see ?? 0);
  if (see > 0) {
    if (opened.trouble !== null) return refuseWork(program, opened.trouble, texts.noPlays[opened.trouble]);
    await withStop((signal) =>
      seeCases(opened.compare, { cases, limit: see, signal, onEvent: (event) => tellEvent(asked, event, 0) }),
    );
    return tellCases({ ...asked, flags: { ...flags, values: { ...flags.values, see: undefined } } });
  }
  const { seen } = store.readCases();
  if (program.json) {
    const listed = cases.map(({ id: name, title, request, producers, at, files }) => ({
      id: name,
      title,
      request,
      producers,
      at,
      files: files.map(({ path }) => path),
      seen: seen[name]?.ok === true,
    }));
    program.out(`${maskedJson(snakeCased({ cases: listed, others }), opened.workspace.mask)}\n`);
    return EXIT.done;
  }
  const lines = cases.map((one) => {
    const known = seen[one.id];
    const isSeen = known?.ok === true && known.key === one.key;
    return [one.id, isSeen ? texts.caseSeen(known.seconds) : texts.caseUnseen, one.title];
  });
  // Reasons are of any length: columns would push the titles out of sight.
  const reasons = others.map(({ id: name, title, why }) => `${name}  ${title}: ${texts.notACase(why)}`);
  const shown = [columnsOf(lines), "", texts.caseCount(cases.length, others.length), ...reasons];
  program.out(`${printable(opened.workspace.mask(shown.join("\n")))}\n`);
  return EXIT.done;
}

/** Writes the order of coders that a result supports. */
async function adopt(opened: Opened, texts: HistoryMessages, result: CompareResult): Promise<string> {
  const roles = result.contestants.map(({ name }) => readCoder(name));
  if (roles.includes(null)) return texts.notAdoptable;
  const order = chooseOrder(result);
  const [first] = order ?? [];
  const last = order?.at(-1);
  if (order === null || first === undefined || last === undefined) return texts.notAdopted;
  const part =
    first.usd !== null && last.usd !== null && last.usd > 0
      ? first.usd / first.plays / (last.usd / last.plays)
      : null;
  const measured = {
    order: order.map(({ name }) => readCoder(name)),
    solved: first.solved,
    of: first.plays,
    cost_share: part === null ? null : Number(part.toFixed(3)),
  };
  const problem = await opened.changeConfig([
    { path: ["roles", "default_coder"], value: readCoder(first.name) },
    { path: ["roles", "measured"], value: measured },
    { path: ["coder", "escalate"], value: true },
  ]);
  if (problem !== null) return problem;
  const share = part === null ? "" : texts.adoptedShare(part);
  return texts.adopted(first.name, first.solved, first.plays, share, opened.configFile);
}
