import { isTestFile } from "../../domain/checks/affected-tests.ts";
import { filesHolding } from "../../domain/checks/connected.ts";
import { hangingFiles, restOfLine, withoutFiles } from "../../domain/checks/narrow-check.ts";
import { readResults } from "../../domain/checks/read-results.ts";
import { findLoaded } from "../../domain/platform/code-imports.ts";
import { isSameFile } from "../../domain/platform/file-bytes.ts";
import type { HungTest } from "../ports/checks.ts";
import type { Checked, CheckRequest, CheckRun } from "../ports/jobs-draft.ts";
import { findAffected, toChangedTexts } from "./affected.ts";
import { SLOW_FOR_MS } from "./baseline.ts";
import type { JudgedDraft } from "./judge-draft.ts";

interface RunMemoryDeps {
  readonly fingerprint: () => string;
  readonly now: () => number;
  /** How long all checks took the last time; 0 if unknown. */
  readonly usualMs: number;
  /** Of a run while no usual time is known, so that a hang ends no later than the baseline would; default: the request's. */
  readonly unknownSeconds?: number;
  readonly hung: readonly HungTest[];
}

/** Runs over the same files: those of the workspace, with `instead` in the place of some. */
interface RunLayers {
  readonly workspace: string;
  readonly instead: ReadonlyMap<string, SeenFile>;
  readonly runs: Map<string, RememberedRun>;
}

interface SeenFile {
  /** Kind, mode and size; null where the text is replaced for this run. */
  readonly entry: string | null;
  readonly bytes: Uint8Array | null;
}

interface RememberedRun {
  readonly run: CheckRun;
  readonly limitSeconds: number;
}

/** A run is ended at this many times its usual time, and not before this many seconds. */
const USUAL_TIMES = 4;
const LEAST_SECONDS = 60;

/**
 * The runs of one job's checks, by what was run over which files. The same line over the same files is not run twice: the baseline,
 * comparisons, proofs and a second attempt with the same draft share their runs. A request with `again` is a repetition.
 */
export function createRunMemory(deps: RunMemoryDeps) {
  const known: RunLayers[] = [];
  /** Null before the first run. */
  let hung: Map<string, HungTest> | null = null;
  /** Those of them that this job saw, or left out of a run. */
  const named = new Set<string>();
  /** Milliseconds of the runs that ended, by line: how long a line usually takes. */
  const usual = new Map<string, number>();

  function layersOf(workspace: string, instead: ReadonlyMap<string, SeenFile>): RunLayers {
    const same = known.find((one) => one.workspace === workspace && isSameContent(one.instead, instead));
    if (same !== undefined) return same;
    const added = { workspace, instead, runs: new Map() };
    known.push(added);
    return added;
  }
  function limitFor(line: string, most: number): number {
    const own = usual.get(line);
    const ms = own ?? Math.max(deps.usualMs, ...usual.values());
    if (ms === 0) return Math.min(most, Math.max(LEAST_SECONDS, deps.unknownSeconds ?? most));
    const limit = Math.min(most, Math.max(LEAST_SECONDS, Math.ceil((USUAL_TIMES * ms) / 1000)));
    // A run with less than twice the line's own time would probably be ended for nothing.
    return Math.max(limit, Math.ceil((2 * (own ?? 0)) / 1000));
  }
  /** Over the unchanged workspace, tests that changed since are tried again; over a draft, there is nothing to compare them with. */
  function readHung(draft: JudgedDraft, isBefore: boolean): Map<string, HungTest> {
    const texts = isBefore && deps.hung.length > 0 ? textsBefore(draft) : null;
    const isSame = ({ file, seen, at }: HungTest) =>
      texts === null || (deps.now() - at < SLOW_FOR_MS && checksumOf(file, texts) === seen);
    return new Map(deps.hung.filter(isSame).map((one) => [one.file, one]));
  }
  /** Runs one line without the test files that hang. A file that hangs over the unchanged workspace is left out of every later run. */
  async function runLine(
    draft: JudgedDraft,
    request: Omit<CheckRequest, "commands">,
    about: { readonly line: string; readonly isBefore: boolean },
  ): Promise<Checked> {
    hung ??= readHung(draft, about.isBefore);
    const known = hung;
    const left = withoutFiles(about.line, [...known.keys()]) ?? about.line;
    const isLess = (file: string) => withoutFiles(about.line, [file]) !== about.line;
    if (left !== about.line) for (const file of known.keys()) if (isLess(file)) named.add(file);
    let printedAt = deps.now();
    const onOutput = (text: string) => {
      printedAt = deps.now();
      request.onOutput?.(text);
    };
    const checked = await draft.check({ ...request, commands: [left], onOutput });
    const run = checked.ok ? checked.runs[0] : undefined;
    // A suite that is merely slow keeps printing.
    const isSilent = (deps.now() - printedAt) * 2 > request.timeoutSeconds * 1000;
    const hangs = about.isBefore && isSilent && run?.outcome === "timed-out";
    if (!hangs) return checked;
    // A line that cannot leave them out is not the last one: the affected tests are run by their files.
    const texts = textsBefore(draft);
    const tests = [...texts].flatMap(([path, text]) => (isTestFile(path, text) ? [path] : []));
    for (const file of hangingFiles(run.whole, run, tests)) {
      known.set(file, { file, seen: checksumOf(file, texts), at: deps.now() });
      if (withoutFiles(about.line, [file]) !== null) named.add(file);
    }
    const rest = withoutFiles(about.line, [...known.keys()]);
    return rest === null || rest === left ? checked : runLine(draft, request, about);
  }
  async function check(draft: JudgedDraft, layers: RunLayers, request: CheckRequest): Promise<Checked> {
    const how = `${request.home} ${request.network} ${request.withoutBuildLayer === true}`;
    const runs: CheckRun[] = [];
    for (const line of request.commands) {
      const key = `${how} ${line}`;
      const most = request.timeoutSeconds;
      const timeoutSeconds = request.isExact ? most : limitFor(line, most);
      const seen = request.again === true ? undefined : layers.runs.get(key);
      if (seen !== undefined && (seen.run.outcome !== "timed-out" || seen.limitSeconds >= timeoutSeconds)) {
        runs.push(seen.run);
        continue;
      }
      const restOf = (part: string) => restOfLine(line, part, () => findAffected(draft).texts);
      const part = request.again === true ? null : findPart(layers, how, restOf);
      const isBefore = layers.instead.size === 0;
      const runOne = (one: string) => runLine(draft, { ...request, timeoutSeconds }, { line: one, isBefore });
      const checked = part === null ? await runOne(line) : await runRest(runOne, line, part);
      if (!checked.ok) return checked;
      const [own] = checked.runs;
      // The job ended between two commands.
      if (own === undefined) break;
      const run = { ...own, command: line };
      if (run.outcome === "exited") usual.set(line, Math.max(usual.get(line) ?? 0, run.durationMs));
      layers.runs.set(key, { run, limitSeconds: timeoutSeconds });
      runs.push(run);
      if (request.stopOnError === true && run.exitCode !== 0) break;
    }
    return { ok: true, runs };
  }
  return {
    /** Test files that hang over the unchanged workspace; later runs leave them out. */
    hung: (): readonly HungTest[] => (hung === null ? deps.hung : [...hung.values()]),
    named: (): readonly string[] => [...named],
    /** The draft as checks see it, with every run remembered. Files of the workspace count as they are at the first run. */
    over(draft: JudgedDraft): JudgedDraft {
      let workspace: string | null = null;
      return {
        homes: () => draft.homes?.() ?? null,
        get files() {
          return draft.files;
        },
        changes: () => draft.changes(),
        diff: () => draft.diff(),
        check(request) {
          const instead = findSeenFiles(draft, request);
          if (instead === null || request.env !== undefined || request.scratch !== undefined)
            return draft.check(request);
          workspace ??= deps.fingerprint();
          return check(draft, layersOf(workspace, instead), request);
        },
      };
    },
  };
}

function textsBefore(draft: JudgedDraft): ReadonlyMap<string, string> {
  const changed = toChangedTexts(draft).map(({ path, before }) => [path, before ?? ""] as const);
  return new Map([...findAffected(draft).texts, ...changed]);
}

/** Of a file, or of the files that hold a test, and of all that they load. */
function checksumOf(name: string, texts: ReadonlyMap<string, string>): number {
  const loaded = [...findLoaded(texts, texts.has(name) ? [name] : filesHolding(name, texts))];
  return checksumTexts(loaded.flatMap((path) => [path, texts.get(path) ?? ""]));
}

export function checksumTexts(texts: readonly string[]): number {
  let sum = 0;
  for (const text of texts)
    for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) | 0;
  return sum;
}

/** Null where the content of a changed file is not known. */
function findSeenFiles(
  draft: JudgedDraft,
  { over, asBefore = [], replaced }: CheckRequest,
): ReadonlyMap<string, SeenFile> | null {
  const seen = new Map<string, SeenFile>();
  if (over === "draft") {
    const old = new Set(asBefore);
    // A clone's git may be configured to hide changes: an empty list does not prove unchanged files.
    if (old.size === 0 && draft.changes().length === 0) return null;
    const contents = new Map(draft.diff().map(({ path, after }) => [path, after]));
    for (const { path } of draft.changes()) {
      if (old.has(path)) continue;
      const bytes = contents.get(path);
      if (contents.has(path) && bytes === undefined) return null;
      seen.set(path, { entry: JSON.stringify(draft.files.look(path)), bytes: bytes ?? null });
    }
  }
  for (const [path, text] of replaced ?? [])
    seen.set(path, { entry: null, bytes: new TextEncoder().encode(text) });
  return seen;
}

function isSameContent(one: ReadonlyMap<string, SeenFile>, other: ReadonlyMap<string, SeenFile>): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([path, { entry, bytes }]) => {
    const same = other.get(path);
    return same !== undefined && same.entry === entry && isSameFile(bytes, same.bytes);
  });
}

/** A run of some of the line's tests over the same files, and the line for the rest of them. */
function findPart({ runs }: RunLayers, how: string, restOf: (part: string) => string | null) {
  for (const [key, { run }] of runs) {
    const rest = run.exitCode !== null && key.startsWith(`${how} `) ? restOf(run.command) : null;
    if (rest !== null && (run.exitCode === 0 || readResults(run.whole)?.listed === "all"))
      return { run, rest };
  }
  return null;
}

/**
 * Runs the rest of a line and joins both runs. If settings run all files of the first again, the rest is the whole; if some, the line
 * runs.
 */
async function runRest(
  run: (line: string) => Promise<Checked>,
  line: string,
  { run: first, rest }: NonNullable<ReturnType<typeof findPart>>,
): Promise<Checked> {
  const checked = await run(rest);
  const second = checked.ok ? checked.runs[0] : undefined;
  if (second === undefined) return checked;
  const names = [...(readResults(first.whole)?.tests.keys() ?? [])];
  const again = readResults(second.whole)?.tests;
  const repeated = names.filter((name) => again?.has(name)).length;
  if (repeated > 0) return repeated === names.length ? checked : run(line);
  const joined = {
    ...second,
    exitCode: second.exitCode === 0 ? first.exitCode : second.exitCode,
    output: `${first.output}\n${second.output}`,
    whole: `${first.whole}\n${second.whole}`,
    durationMs: first.durationMs + second.durationMs,
  };
  return { ok: true, runs: [joined] };
}
