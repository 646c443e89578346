import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CaseMemory, CompareStore, PlayRecord } from "../../application/ports/history.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { writeDurably } from "../jobs/job-folder.ts";
import { withFolderLocks } from "../platform/folder-lock.ts";
import { type AskGit, commitState } from "./git-log.ts";

const NO_CASES: CaseMemory = { added: [], dropped: [], requests: {}, issues: {}, seen: {} };

/** Cases and comparisons of one workspace, in a folder beside its jobs. */
export function createCompareStore(folder: string, root: string, git: AskGit): CompareStore {
  const casesFile = join(folder, "cases.json");
  const runFolder = (run: string) => join(folder, "runs", run);
  const playsFile = (run: string) => join(runFolder(run), "plays.ndjson");
  const make = (path: string) => mkdirSync(path, { recursive: true, mode: 0o700 });
  const readAll = (run: string) =>
    existsSync(playsFile(run)) ? readFileSync(playsFile(run), "utf8").split("\n").flatMap(readPlay) : [];
  return {
    readCases() {
      return attemptOr(NO_CASES, () => ({
        ...NO_CASES,
        ...(JSON.parse(readFileSync(casesFile, "utf8")) as CaseMemory),
      }));
    },
    keepCases(memory) {
      make(folder);
      writeDurably(casesFile, JSON.stringify(memory));
    },
    keepState: (name, base, files) =>
      commitState(git, join(folder, "states.git"), {
        name,
        base: base === null ? null : { repository: root, commit: base },
        files,
      }),
    addPlay(run, play) {
      make(runFolder(run));
      // A line that a crash cut short ends here.
      appendFileSync(playsFile(run), `\n${JSON.stringify(play)}\n`, { mode: 0o600 });
    },
    readPlays: (run) => readAll(run).filter(({ failure }) => failure === null),
    spentUsd: (run) => readAll(run).reduce((sum, { usd }) => sum + (usd ?? 0), 0),
    listRuns() {
      const playedAt = (run: string) =>
        statSync(playsFile(run), { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
      const runs = existsSync(join(folder, "runs")) ? readdirSync(join(folder, "runs")) : [];
      return runs.filter((run) => playedAt(run) > 0).toSorted((a, b) => playedAt(b) - playedAt(a));
    },
    async hold(run, use) {
      make(runFolder(run));
      return withFolderLocks([runFolder(run)], { timeoutMs: 0 }, use);
    },
  };
}

/** A line that a crash cut short is left out, and its play is played again. */
function readPlay(line: string): PlayRecord[] {
  return attemptOr([], () => (line === "" ? [] : [JSON.parse(line) as PlayRecord]));
}
