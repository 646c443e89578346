/**
 * Judges a draft by a command of another source where no declared check can: the first that runs over the old code and over the draft,
 * and that notices the change. In: the draft, and the judgement without a verdict. Out: a judgement that names its source, or the
 * first one with what was tried. A command of the project that judged is remembered with its time.
 */
import { isOfProject, type SourcedCommand } from "../../domain/checks/command-sources.ts";
import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import { nameCheck, type WhyNotChecked, withFound } from "../../domain/checks/findings.ts";
import { decidesChecks } from "../../domain/checks/path-kinds.ts";
import type { Baseline, KnownCommands, Said, SourceParsers } from "../ports/checks.ts";
import { measureBaseline, type OpenChecksDeps, readProject, readSmallFile, SLOW_FOR_MS } from "./baseline.ts";
import {
  type DraftJudgement,
  type JudgeDraftDeps,
  type JudgedDraft,
  judgeDraft,
  unjudgedChange,
} from "./judge-draft.ts";
import { checksumTexts } from "./remember-runs.ts";

const READ_BYTES = 256 * 1024;

/** If no check judged for one of these reasons, a command of another source may. */
const HELPED = /^(?:no-checks|slow|unended|dependencies-missing|cannot-run|red-before|none-passed|blind)$/;

export interface SourceJudgeDeps extends Omit<JudgeDraftDeps, "baseline"> {
  /** The workspace as it is before the change, and the request; absent: what the coder proposes is the only source. */
  readonly sources?: Pick<OpenChecksDeps, "files"> & {
    readonly request: string;
    readonly parsers: () => Promise<SourceParsers>;
  };
}

/** A command, or the checks of several packages. */
interface Candidate extends SourcedCommand {
  readonly checks?: readonly ProjectCheck[];
}

/** The commands that no declared check names, for one job. */
export function createSourceJudge(deps: SourceJudgeDeps) {
  let proposed: string | null = null;
  const said: Said[] = [];
  /** Why a command could not judge, by its line; null where it judged an earlier attempt. */
  const ended = new Map<string, WhyNotChecked | null>();
  /** The old code does not change between two attempts. */
  const baselines = new Map<string, Promise<Baseline>>();

  async function readAll(): Promise<readonly SourcedCommand[]> {
    if (deps.sources === undefined) return [];
    const { files, request, parsers } = deps.sources;
    const { findSources } = await import("./find-sources.ts");
    return findSources({ files, said: [{ name: "request", text: request }, ...said] }, parsers);
  }
  async function findCandidates(own: DraftJudgement, draft: JudgedDraft): Promise<readonly Candidate[]> {
    const found = await readAll();
    const declared = deps.checks.flatMap(({ line, runner = line, command }) =>
      [line, runner, command].map(nameCheck),
    );
    const others = found.filter(({ kind, line, command }) => {
      const names = [line, command].map(nameCheck);
      return kind === "test" && !names.some((name) => declared.includes(name));
    });
    const asked: readonly SourcedCommand[] =
      proposed === null ? [] : [{ kind: "test", command: proposed, line: proposed, from: { name: "coder" } }];
    const packages = await findPackages(draft);
    const all: Candidate[] = [...packages, ...others, ...asked].filter(
      ({ line }) => (ended.get(line) ?? null) === null,
    );
    // Where all tests take too long, a run of the coder that ended is known not to.
    const isSlow = /^(?:slow|unended)$/.test(own.facts.notChecked ?? "");
    const rank = ({ line, from }: SourcedCommand) =>
      ended.has(line) ? 2 : isSlow && from.name === "ran" ? 1 : 0;
    return all.sort((a, b) => rank(b) - rank(a));
  }
  async function findPackages(draft: JudgedDraft): Promise<readonly Candidate[]> {
    if (deps.sources === undefined || deps.settings.command !== null) return [];
    const { findPackageChecks } = await import("./find-packages.ts");
    const { files } = deps.sources;
    const paths = draft.changes().map(({ path }) => path);
    const found = deps.advise("packages", null, () => findPackageChecks(files, paths));
    return found === null ? [] : [found];
  }
  /** Nothing of the project's own checks counts for it, and it proves in each attempt that it notices the change. */
  async function judgeBy(source: Candidate, draft: JudgedDraft, attempt: number): Promise<DraftJudgement> {
    const { fingerprint } = deps.memory;
    const { command, line, from } = source;
    const network = deps.settings.network && /^(?:package|script|runner|coder)$/.test(from.name);
    const about = {
      ...deps,
      settings: { ...deps.settings, network },
      checks: source.checks ?? ([{ kind: "test", command, line }] as const),
      memory: { fingerprint, recall: () => null, keep: () => {}, running: new Map() },
      mustNotice: true,
    };
    const baseline = () => {
      const key = `${fingerprint()} ${line}`;
      const measured = baselines.get(key) ?? measureBaseline(about, draft);
      baselines.set(key, measured);
      return measured;
    };
    return judgeDraft({ ...about, baseline }, draft, attempt);
  }
  /** Of the files that decide how checks run, and of the one that names a command; programs count by their names. */
  function checksumDeciding({ file }: SourcedCommand["from"]): number {
    if (deps.sources === undefined) return 0;
    const { files } = deps.sources;
    const { names, programs = [], below = [] } = readProject(files);
    const paths = [...names.filter((name) => decidesChecks(name)), ...(file === undefined ? [] : [file])];
    const own = below.filter((path) => /^\.?venv\/bin\//.test(path));
    return checksumTexts([
      ...paths,
      ...programs,
      ...own,
      ...paths.map((path) => readSmallFile(files, path, READ_BYTES) ?? ""),
    ]);
  }
  const known = () => deps.memory.commands?.recall() ?? null;
  /** The command that judged an earlier job, if nothing changed that decides about it; else it is forgotten. */
  async function recallWorking(): Promise<SourcedCommand | null> {
    const { works, ...rest } = known() ?? { tried: [] };
    if (works === undefined || deps.settings.command !== null) return null;
    const isSame =
      works.decided === checksumDeciding(works.from) &&
      works.insteadOf.join("\0") === deps.checks.map(({ line }) => line).join("\0") &&
      deps.now() - works.at < SLOW_FOR_MS;
    const found = isSame ? (await readAll()).find(({ line }) => line === works.line) : undefined;
    if (found === undefined) deps.memory.commands?.keep(rest);
    return found ?? null;
  }
  function remember(tried: KnownCommands["tried"], works: KnownCommands["works"]): void {
    if (tried.length + (works === undefined ? 0 : 1) > 0)
      deps.memory.commands?.keep({ ...known(), tried, ...(works !== undefined && { works }) });
  }
  return {
    propose(command: string): void {
      proposed = command;
    },
    say(one: Said): void {
      // The last run of a coder is of what it finished.
      if (!said.some(({ text }) => text === one.text)) said.unshift(one);
    },
    /** Judges by the command that judged the last time, before any declared check is tried again; null where none is known. */
    async judgeFirst(draft: JudgedDraft, attempt: number): Promise<DraftJudgement | null> {
      const source = unjudgedChange(draft) === null ? await recallWorking() : null;
      const { works, ...rest } = known() ?? { tried: [] };
      if (source === null || works === undefined) return null;
      const judged = await judgeBy(source, draft, attempt);
      const why = judged.facts.notChecked;
      if (why === "aborted") return judged;
      ended.set(source.line, why);
      if (why !== null) {
        deps.memory.commands?.keep(rest);
        return null;
      }
      const own = deps.checks.map(({ command }) => command);
      return {
        ...judged,
        facts: withFound(judged.facts, { sourced: { from: source.from, own, why: works.why } }),
      };
    },
    /** Null where the declared checks need no help, or no command of another source is known. */
    async judge(draft: JudgedDraft, attempt: number, own: DraftJudgement): Promise<DraftJudgement | null> {
      if (!HELPED.test(own.facts.notChecked ?? "")) return null;
      const from = deps.now();
      const tried: KnownCommands["tried"][number][] = [];
      let last: DraftJudgement | null = null;
      for (const source of await findCandidates(own, draft)) {
        if (deps.signal.aborted || deps.now() - from > deps.settings.auto_limit * 1000) break;
        const started = deps.now();
        const judged = await judgeBy(source, draft, attempt);
        const why = judged.facts.notChecked;
        if (why === "aborted") return own;
        ended.set(source.line, why);
        const { line, command, kind } = source;
        if (isOfProject(source)) tried.push({ command, from: source.from, why });
        const isAsked = source.from.name === "coder";
        const found = isAsked
          ? { proposed: { command, why } }
          : {
              sourced: {
                from: source.from,
                own: own.facts.commands,
                why: own.facts.notChecked ?? "no-checks",
              },
            };
        if (why === null) {
          const seconds = Math.max(1, Math.round((deps.now() - started) / 1000));
          const insteadOf = deps.checks.map((check) => check.line);
          const of = {
            insteadOf,
            why: own.facts.notChecked ?? "no-checks",
            decided: checksumDeciding(source.from),
          } as const;
          const works = { kind, line, command, from: source.from, ...of, seconds, at: deps.now() };
          // Which packages judge is found by each change.
          remember(tried, isOfProject(source) && source.checks === undefined ? works : undefined);
          return { ...judged, facts: withFound(judged.facts, found) };
        }
        last = isAsked ? { ...own, facts: withFound(own.facts, found) } : last;
      }
      remember(tried, undefined);
      return last;
    },
  };
}
