/**
 * `npm run bench -- judged --tasks MIRRORS --record FILE`: how often the verdict is right on public projects. A model that knows the answer
 * gives each fix of `judged.json` with its tests, then mutants of it without them; PicoClaw judges in real drafts with the projects' own
 * suites, and the whole suite, run beside it, says what is true. Each play is one line of FILE; a run that was killed continues there.
 * FILE.projects holds the projects that were set up. Invariant: what the table counts was measured; what was not is counted as such.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openWorkspace } from "../src/wiring/workspace.ts";
import { proposal } from "../test/application/chat/chat-kit.ts";
import { startModelServer } from "../test/fakes/model-server/server.ts";
import type { ContestOptions } from "./exercises-options.ts";
import { runLimited } from "./exercises-tasks.ts";
import { type MutantKind, makeMutants } from "./judged-mutants.ts";
import {
  type Fix,
  findFixes,
  findUnseen,
  isChanged,
  isWorse,
  lay,
  layOut,
  projectOf,
  readBefore,
  runSuite,
  type SuiteRun,
  type Texts,
  toDiff,
  type Unseen,
} from "./judged-tasks.ts";
import { type Row, summarize } from "./measure.ts";
import { inPool, readRecord, readReplyText, saysGreen, takeSample } from "./record.ts";
import { remove, tempFolder } from "./workspaces.ts";

/** One run of a check, as the job's journal has it. */
interface CheckRun {
  readonly over: "draft" | "baseline";
  readonly altered: boolean;
  readonly command: string;
  readonly exit: number | null;
  readonly seconds: number;
}

/** What PicoClaw did with an answer. */
interface Verdict {
  /** `green`: applied and judged. `unchecked`: applied as NOT CHECKED. `kept`: not applied, after a check ran over it. */
  readonly ended: "green" | "unchecked" | "kept" | "no verdict";
  readonly code: number | null;
  readonly text: string;
  readonly seconds: number;
  readonly checkSeconds: number;
  readonly runs: readonly CheckRun[];
}

type FixPlay = { readonly who: "fix" } & Verdict;
/** The whole suite over the project before the fix, with the fix, and with its sources alone. */
interface WholePlay {
  readonly who: "whole";
  readonly before: SuiteRun;
  readonly fixed: SuiteRun;
  readonly alone: SuiteRun;
}
type MutantPlay = {
  readonly who: `mutant ${number}`;
  readonly kind: MutantKind;
  readonly place: string;
  /** Who sees it: the project's tests without the fix's, only these, none; or it cannot be built. */
  readonly seenBy: "visible" | "hidden" | "none" | "build";
} & Verdict;
/** A comment more, or one line broken, in a project that nothing was adapted to. */
type CommentPlay = { readonly who: "comment" } & Verdict;
type BrokenPlay = {
  readonly who: "broken";
  readonly place: string;
  readonly seenBy: MutantPlay["seenBy"];
} & Verdict;
type Play = { readonly fix: string; readonly language: string } & (
  | FixPlay
  | WholePlay
  | MutantPlay
  | CommentPlay
  | BrokenPlay
  | { readonly who: string; readonly error: string }
);

const MUTANTS_A_FIX = 3;
const COMPILED: readonly string[] = ["Go", "Rust", "Java", "C", "C++"];
const UNSEEN: readonly string[] = ["comment", "broken"];

export async function judged({
  tasks,
  long,
  contest: options,
}: {
  readonly tasks: string | undefined;
  readonly long: boolean;
  readonly contest: ContestOptions;
}): Promise<Row[]> {
  const { record, only, count, jobs = "2", who = "fix,whole,mutants", limit = "900" } = options;
  if (record === undefined) throw new Error("name the file of the record: --record FILE");
  if (options.summary === true) return summaryRows(readRecord<Play>(record));
  if (tasks === undefined) throw new Error("name the folder of the mirrors: --tasks MIRRORS");
  const choose = <Kind extends Fix>(all: Kind[]) =>
    takeSample(
      all.filter((fix) => only?.split(",").some((one) => isNamed(fix, one)) ?? true),
      count,
    );
  const kinds = who.split(",");
  const fixes = kinds.some((kind) => !UNSEEN.includes(kind)) ? choose(findFixes(resolve(tasks))) : [];
  const unseen = kinds.some((kind) => UNSEEN.includes(kind)) ? choose(findUnseen(resolve(tasks))) : [];
  if (fixes.length + unseen.length === 0) throw new Error(`no fix is called ${only}`);
  const scratch = tempFolder("judged");
  try {
    const at: Place = {
      scratch,
      kits: `${resolve(record)}.projects`,
      program: options.program === undefined ? join(import.meta.dir, "..") : resolve(options.program),
      settings: JSON.parse(options.settings ?? "{}") as Record<string, unknown>,
      limit: Number(limit),
      turns: new Map(),
    };
    const works = kinds.flatMap((kind) => {
      if (kind === "comment")
        return unseen.map((one) => ({ fix: one, who: kind, play: () => playComment(one, at) }));
      if (kind === "broken")
        return unseen.map((one) => ({ fix: one, who: kind, play: () => playBroken(one, at) }));
      return fixes.flatMap((fix): Work[] => {
        if (kind === "fix") return [{ fix, who: "fix", play: () => playFix(fix, at) }];
        if (kind === "whole") return [{ fix, who: "whole", play: () => playWhole(fix, at) }];
        if (!fix.isFirst && !long) return [];
        return chooseMutants(fix).map((mutant, number) => {
          const name = `mutant ${number + 1}` as const;
          return {
            fix,
            who: name,
            play: async () => {
              const whole = readRecord<Play>(record).find(
                (row) => row.fix === fix.name && row.who === "whole",
              );
              if (whole === undefined || !("fixed" in whole) || !isSound(whole)) return null;
              return { who: name, ...(await playMutant(fix, mutant, whole, at)) };
            },
          };
        });
      });
    });
    const played = new Set(readRecord<Play>(record).map((row) => `${row.fix} ${row.who}`));
    const waiting = works.filter((work) => !played.has(`${work.fix.name} ${work.who}`));
    let done = 0;
    await inPool(waiting, Number(jobs), async ({ fix, who: by, play }) => {
      const before = at.turns.get(fix.name);
      const { promise, resolve: end } = Promise.withResolvers<void>();
      at.turns.set(fix.name, promise);
      await before;
      const of = { fix: fix.name, language: fix.project.language };
      try {
        const row = await play().catch((error: unknown) => ({ who: by, error: String(error) }));
        if (row !== null) appendFileSync(record, `${JSON.stringify({ ...of, ...row })}\n`);
      } finally {
        end();
        done += 1;
        console.error(`${done} of ${waiting.length}: ${fix.name} ${by}`);
      }
    });
    return summaryRows(readRecord<Play>(record));
  } finally {
    remove(scratch);
  }
}

interface Work {
  readonly fix: Fix;
  readonly who: string;
  readonly play: () => Promise<object | null>;
}

interface Place {
  readonly scratch: string;
  readonly kits: string;
  readonly program: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Seconds for one play and for one run of a suite. */
  readonly limit: number;
  /** Of each fix, the play that has its folders. */
  readonly turns: Map<string, Promise<void>>;
}

const isNamed = ({ name, project }: Fix, wanted: string) =>
  [
    name,
    projectOf(project),
    project.repository,
    project.language,
    project.large === true ? "large" : "small",
  ].includes(wanted);

async function playFix(fix: Fix, at: Place): Promise<FixPlay> {
  return { who: "fix", ...(await playAnswer(fix, { ...fix.sources, ...fix.tests }, at)) };
}

async function playComment(unseen: Unseen, at: Place): Promise<CommentPlay> {
  const text = readBefore(unseen, unseen.file) ?? "";
  const comment = `${/\.(?:py|rb)$/.test(unseen.file) ? "#" : "//"} Read once more.\n`;
  return { who: "comment", ...(await playAnswer(unseen, { [unseen.file]: text + comment }, at)) };
}

/** The condition in the middle of the file is turned. */
async function playBroken(unseen: Unseen, at: Place): Promise<BrokenPlay> {
  const { file } = unseen;
  const text = readBefore(unseen, file) ?? "";
  const lines = new Set(
    text
      .split("\n")
      .keys()
      .map((line) => line + 1),
  );
  const turned = makeMutants(file, text, lines).filter(({ kind }) => kind === "condition turned");
  const broken = turned[Math.floor(turned.length / 2)];
  // Without a condition, or in a language that has no mutants: the file is cut in its middle.
  const half = text.slice(0, text.length / 2);
  const texts = { [file]: broken?.text ?? half };
  const verdict = await playAnswer(unseen, texts, at, { coder: { attempts: 1 } });
  const folder = await folderOf(unseen, "whole", at);
  const before = await runSuite(unseen, folder, {}, at.limit);
  const seenBy = isWorse(await runSuite(unseen, folder, texts, at.limit), before) ? "visible" : "none";
  return { who: "broken", place: `${file}:${broken?.line ?? half.split("\n").length}`, seenBy, ...verdict };
}

async function playWhole(fix: Fix, at: Place): Promise<WholePlay> {
  const folder = await folderOf(fix, "whole", at);
  const over = (texts: Texts) => runSuite(fix, folder, texts, at.limit);
  // The first run has the cold caches.
  const before = await over({});
  const alone = await over(fix.sources);
  const fixed = await over({ ...fix.sources, ...fix.tests });
  return { who: "whole", before, fixed, alone };
}

/** Mutants tell something where the suite ends, the fix is green and the old tests hold with it. */
const isSound = ({ before, fixed, alone }: WholePlay) =>
  before.code !== null && fixed.code !== null && !isWorse(fixed, before) && !isWorse(alone, before);

interface ChosenMutant {
  readonly kind: MutantKind;
  readonly place: string;
  readonly texts: Texts;
}

function chooseMutants(fix: Fix): ChosenMutant[] {
  return Object.entries(fix.sources)
    .flatMap(([path, text]) => {
      const old = new Set((readBefore(fix, path) ?? "").split("\n"));
      const added = (text ?? "").split("\n").flatMap((line, at) => (old.has(line) ? [] : [at + 1]));
      return makeMutants(path, text ?? "", new Set(added)).map((mutant) => ({
        kind: mutant.kind,
        place: `${path}:${mutant.line}`,
        texts: { ...fix.sources, [path]: mutant.text },
      }));
    })
    .slice(0, MUTANTS_A_FIX);
}

async function playMutant(fix: Fix, { kind, place, texts }: ChosenMutant, whole: WholePlay, at: Place) {
  const verdict = await playAnswer(fix, texts, at, { coder: { attempts: 1 } });
  const folder = await folderOf(fix, "whole", at);
  const visible = await runSuite(fix, folder, texts, at.limit);
  const hidden = isWorse(visible, whole.before)
    ? visible
    : await runSuite(fix, folder, { ...texts, ...fix.tests }, at.limit);
  // Elsewhere a suite that prints no test has met the mutant while it was loaded.
  const isBuilt =
    visible.tests !== null ||
    !COMPILED.includes(fix.project.language) ||
    /\d+% tests passed|tests failed/.test(visible.tail);
  const seenBy = !isBuilt
    ? "build"
    : isWorse(visible, whole.before)
      ? "visible"
      : isWorse(hidden, whole.fixed)
        ? "hidden"
        : "none";
  return { kind, place, seenBy, ...verdict } as const;
}

async function folderOf(fix: Fix, what: string, { scratch, kits }: Place): Promise<string> {
  const folder = join(scratch, fix.name.replace("/", "-"), what);
  await layOut(fix, folder, kits);
  return folder;
}

/** A coder that answers with these texts. */
async function playAnswer(
  fix: Fix,
  texts: Texts,
  at: Place,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Verdict> {
  const folder = await folderOf(fix, projectOf(fix.project), at);
  const home = join(at.scratch, fix.name.replace("/", "-"), "home");
  mkdirSync(home, { recursive: true });
  const diff = toDiff(folder, texts);
  // A diff of documented code may hold fences.
  const fence = "`".repeat(diff.includes("```") ? 5 : 3);
  const server = await startModelServer({
    script: [{ text: proposal(fix.subject, `${fence}diff\n${diff}${fence}`) }],
  });
  const providers = { claude: { base_url: server.baseUrl("anthropic") } };
  writeFileSync(
    join(home, "config.yaml"),
    JSON.stringify({ locale: "en", providers, ...settings, ...at.settings }),
  );
  const env = {
    PATH: process.env.PATH ?? "",
    // The tools' caches are there.
    HOME: process.env.HOME ?? "",
    PICOCLAW_HOME: home,
    LANG: "C.UTF-8",
    ANTHROPIC_API_KEY: "sk-scripted",
  };
  try {
    const opened = await openWorkspace(env, { cwd: folder });
    if (!opened.ok) throw new Error(opened.message);
    const { archive } = opened.workspace;
    const known = new Set(archive.list().map(({ jobId }) => jobId));
    const from = performance.now();
    const ran = await runLimited(
      [
        join(at.program, "bin/picoclaw"),
        "chat",
        "--json",
        "--name",
        `play-${known.size}`,
        `/code3 ${fix.subject}`,
      ],
      { cwd: folder, env, seconds: at.limit },
    );
    const seconds = (performance.now() - from) / 1000;
    const runs = archive
      .list()
      .filter(({ jobId }) => !known.has(jobId))
      .flatMap(({ jobId }) => archive.events(jobId))
      .flatMap(({ event }): CheckRun[] =>
        event.type === "check_finished"
          ? [
              {
                over: event.over,
                altered: event.altered === true,
                command: event.command.slice(0, 400),
                exit: event.exit_code,
                seconds: event.duration / 1000,
              },
            ]
          : [],
      );
    const [code, text] = [ran.isLate ? null : ran.code, readReplyText(ran.stdout) ?? ran.out.slice(-3000)];
    const isApplied = isChanged(folder);
    const isJudged = runs.some(({ over, exit }) => over === "draft" && exit !== null);
    const kept = isJudged && code === 1 ? "kept" : "no verdict";
    return {
      ended: isApplied ? (saysGreen({ code, text }) ? "green" : "unchecked") : kept,
      code,
      text,
      seconds,
      checkSeconds: runs.reduce((sum, run) => sum + run.seconds, 0),
      runs,
    };
  } finally {
    await server.stop();
    lay(folder, {});
  }
}

function summaryRows(record: readonly Play[]): Row[] {
  const plays = record.filter((row): row is Extract<Play, FixPlay> => row.who === "fix" && "ended" in row);
  const wholes = record.filter((row): row is Extract<Play, WholePlay> => "fixed" in row);
  const mutants = record.filter(
    (row): row is Extract<Play, MutantPlay> => row.who.startsWith("mutant") && "seenBy" in row,
  );
  const comments = record.filter(
    (row): row is Extract<Play, CommentPlay> => row.who === "comment" && "ended" in row,
  );
  const broken = record.filter(
    (row): row is Extract<Play, BrokenPlay> => row.who === "broken" && "seenBy" in row,
  );
  const errors = record.filter((row) => "error" in row);
  const row = (name: string, figure: string, target = "", ok = true): Row => ({ name, figure, target, ok });
  const share = (part: number, all: number) =>
    `${part} of ${all} (${all === 0 ? "–" : ((100 * part) / all).toFixed(1)} %)`;
  const ended = (of: readonly Verdict[], end: Verdict["ended"]) =>
    of.filter((one) => one.ended === end).length;
  const judgedCount = ended(plays, "green") + ended(plays, "kept");
  const by = (who: MutantPlay["seenBy"]) => mutants.filter(({ seenBy }) => seenBy === who);
  const [seen, hidden, unseen, unbuilt] = [by("visible"), by("hidden"), by("none"), by("build")];
  const kept = ended(plays, "kept");
  const seenBroken = broken.filter(({ seenBy }) => seenBy === "visible");
  const falselyGreen = ended(seen, "green");
  const prices = plays.filter((play) => play.ended !== "no verdict").map(({ checkSeconds }) => checkSeconds);
  const ratios = plays.flatMap((play) => {
    const whole = wholes.find(({ fix }) => fix === play.fix)?.fixed;
    return whole?.code == null || play.runs.length === 0 ? [] : [play.checkSeconds / whole.seconds];
  });
  const isCheap =
    prices.length > 0 &&
    summarize(prices).median <= 90 &&
    (ratios.length === 0 || summarize(ratios).median <= 2.2);
  return [
    ...[...Map.groupBy(plays, ({ language }) => language)].map(([language, of]) =>
      row(
        `${language}: the true fix`,
        `green ${ended(of, "green")}, kept ${ended(of, "kept")}, unchecked ${ended(of, "unchecked")}, no verdict ${ended(of, "no verdict")}`,
      ),
    ),
    row("judged at all", share(judgedCount, plays.length), "≥ 95 %", judgedCount >= 0.95 * plays.length),
    row("true fix refused", share(kept, plays.length), "≤ 2 %", kept <= 0.02 * plays.length),
    row(
      "mutants that the visible suite sees, landed as green",
      `${share(falselyGreen, seen.length)}, unchecked ${ended(seen, "unchecked")}, no verdict ${ended(seen, "no verdict")}`,
      "≤ 5 %",
      falselyGreen <= 0.05 * seen.length,
    ),
    row(
      "mutants that only the fix's tests see, landed as green",
      share(ended(hidden, "green"), hidden.length),
    ),
    row("mutants that no test sees", `${share(ended(unseen, "green"), unseen.length)} landed as green`),
    row("mutants that cannot be built", `${share(ended(unbuilt, "kept"), unbuilt.length)} kept back`),
    row(
      "all checks of a true fix, median",
      `${prices.length === 0 ? "–" : summarize(prices).median.toFixed(1)} s; ${ratios.length === 0 ? "–" : summarize(ratios).median.toFixed(2)} runs of the whole suite (${ratios.length} measured)`,
      "≤ 90 s and ≤ 2.2",
      isCheap,
    ),
    ...(comments.length + broken.length === 0
      ? []
      : [
          row(
            "projects never looked at: one comment more",
            `green ${share(ended(comments, "green"), comments.length)}, unchecked ${ended(comments, "unchecked")}, kept ${ended(comments, "kept")}`,
          ),
          row(
            "… one line broken, and the suite sees it",
            `kept ${share(ended(seenBroken, "kept"), seenBroken.length)}, green ${ended(seenBroken, "green")}, unchecked ${ended(seenBroken, "unchecked")}`,
          ),
        ]),
    ...(errors.length === 0
      ? []
      : [row("plays that the bench could not make", String(errors.length), "0", false)]),
  ];
}
