/**
 * `npm run bench -- exercises --tasks FOLDER --record FILE [--model NAME] [--server URL]`: public exercises with a configured model,
 * by PicoClaw and by the model alone on the same server, judged by the pristine tests (docs/benchmarks.md has the options).
 * Each exercise that a contestant has played is one line of FILE; a run that was killed continues there. `--summary` prints FILE's table.
 * Invariant: an exercise counts only where the track's own solution is green and its stub is red.
 */
import { appendFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { loadConfig } from "../src/config/load.ts";
import { modelsSettings } from "../src/config/settings.ts";
import type { ContestOptions } from "./exercises-options.ts";
import { type Contest, type Played, playAlone, playProgram } from "./exercises-play.ts";
import { canConfine, type Exercise, findExercises, judge } from "./exercises-tasks.ts";
import { type Row, summarize } from "./measure.ts";
import { inPool, readRecord, saysGreen, takeSample } from "./record.ts";
import { remove, tempFolder } from "./workspaces.ts";

/** What the record says of an exercise that does not count. */
const JUDGE = "judge";
const KEY = "PICOCLAW_BENCH_API_KEY";

export async function exercises({
  tasks,
  contest: options,
}: {
  readonly tasks: string | undefined;
  readonly contest: ContestOptions;
}): Promise<Row[]> {
  const { record, only, count, jobs = "2", who = "alone,tests,picoclaw", name = "picoclaw" } = options;
  if (record === undefined) throw new Error("name the file of the record: --record FILE");
  if (options.summary === true) return summaryRows(readRecord<Played>(record));
  if (tasks === undefined) throw new Error("name the folder of the tracks: --tasks FOLDER");
  const servers = await serversOf(options);
  const scratch = tempFolder("exercises");
  try {
    const chosen = choose(findExercises(resolve(tasks), scratch), only, count);
    const played = new Set(readRecord<Played>(record).map(keyOf));
    const save = (row: Played) => appendFileSync(record, `${JSON.stringify(row)}\n`);
    await inPool(chosen, Number(jobs), async (exercise) => {
      if (!played.has(keyOf({ who: JUDGE, exercise: exercise.name }))) save(await judgeExercise(exercise));
    });
    const sound = new Set(
      readRecord<Played>(record).flatMap(({ who: by, exercise, solved }) =>
        by === JUDGE && solved ? [exercise] : [],
      ),
    );
    for (const [track, ofTrack] of Map.groupBy(chosen, ({ track }) => track))
      if (!ofTrack.some(({ name }) => sound.has(name))) throw new Error(whyNoneIsSound(track, record));
    if (who.split(",").includes("picoclaw") && !canConfine())
      throw new Error("bubblewrap cannot run here, so PicoClaw would check nothing: install it");
    const names = who.split(",").map((one) => (one === "picoclaw" ? name : one));
    const plays = chosen
      .filter((exercise) => sound.has(exercise.name))
      .flatMap((exercise) => names.map((one) => ({ exercise, name: one })))
      .filter((play) => !played.has(keyOf({ who: play.name, exercise: play.exercise.name })));
    const busy = new Map(servers.map(({ server }) => [server, 0]));
    let done = 0;
    await inPool(plays, Number(jobs), async (play) => {
      const [server] = servers.toSorted((x, y) => (busy.get(x.server) ?? 0) - (busy.get(y.server) ?? 0)) as [
        Server,
      ];
      busy.set(server.server, (busy.get(server.server) ?? 0) + 1);
      try {
        save(await playOne(play.name, play.exercise, { ...contestOf(options, scratch), ...server }));
      } finally {
        busy.set(server.server, (busy.get(server.server) ?? 0) - 1);
        done += 1;
        if (done % 20 === 0) console.error(`${done} of ${plays.length} played`);
      }
    });
    return summaryRows(readRecord<Played>(record));
  } finally {
    remove(scratch);
  }
}

type Server = Pick<Contest, "server" | "provider">;

/** Where the model answers. Several addresses of the same model share the plays. */
async function serversOf({ model = "bench", server }: ContestOptions): Promise<Server[]> {
  const env = process.env;
  const home = env.PICOCLAW_HOME ?? join(homedir(), ".picoclaw");
  const loaded = await loadConfig({ env, home });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
  const configured = modelsSettings(loaded.config, loaded.secrets, home).providers[model];
  const addresses = server?.split(",") ?? (configured?.baseUrl ? [configured.baseUrl] : []);
  if (addresses.length === 0)
    throw new Error(`name the address of ${model}: base_url in the configuration, or --server URL`);
  if (configured?.apiKey) process.env[KEY] = configured.apiKey;
  const provider =
    configured === undefined
      ? { type: "openai-compatible", model, local: true }
      : {
          type: configured.type,
          model: configured.model,
          local: configured.local,
          max_tokens: configured.maxTokens,
          temperature: configured.temperature,
          effort: configured.effort,
          ...(configured.apiKey && { api_key: `env:${KEY}` }),
        };
  return addresses.map((address) => ({ server: address, provider }));
}

function contestOf({ program, settings = "{}", limit = "600" }: ContestOptions, scratch: string) {
  return {
    program: program === undefined ? join(import.meta.dir, "..") : resolve(program),
    settings: JSON.parse(settings) as Record<string, unknown>,
    limit: Number(limit),
    scratch,
  };
}

/** Names, or tracks; of these a sample that is the same on every machine. */
function choose(all: readonly Exercise[], only: string | undefined, count: string | undefined): Exercise[] {
  const wanted = only?.split(",");
  const chosen = all.filter(
    ({ name, track }) => wanted?.some((one) => one === name || one === track) ?? true,
  );
  if (chosen.length === 0) throw new Error(`no exercise is called ${only}`);
  return takeSample(chosen, count);
}

async function judgeExercise(exercise: Exercise): Promise<Played> {
  const [example, stub] = [
    await judge(exercise, exercise.example),
    await judge(exercise, exercise.files.get(exercise.solution) ?? ""),
  ];
  const none = { seconds: 0, requests: 0, promptTokens: 0, answerTokens: 0, cut: 0, asked: [] };
  return {
    who: JUDGE,
    exercise: exercise.name,
    solved: example.green && !stub.green,
    ...none,
    ...(!example.green && { red: example.output.slice(-1500) }),
  };
}

/** A machine without the track's test runner finds every solution red, and such a record must not be continued. */
function whyNoneIsSound(track: string, record: string): string {
  const judged = readRecord<Played>(record).find(
    ({ who, exercise }) => who === JUDGE && exercise.startsWith(`${track}/`),
  );
  const [cause = ""] = (judged?.red ?? "").trim().split("\n").slice(-1);
  return `${track}: its own solutions are red here (${cause.slice(0, 60)}); then begin a new record`;
}

async function playOne(who: string, exercise: Exercise, contest: Contest): Promise<Played> {
  if (who === "alone" || who === "tests") return playAlone(who, exercise, contest, who === "tests");
  try {
    return await playProgram(who, exercise, contest);
  } catch (error) {
    const none = { seconds: 0, requests: 0, promptTokens: 0, answerTokens: 0, cut: 0, asked: [] };
    return { who, exercise: exercise.name, solved: false, ...none, error: String(error) };
  }
}

const keyOf = ({ who, exercise }: Pick<Played, "who" | "exercise">) => `${who} ${exercise}`;

/** How a play ended, by its facts first and the program's own words last. The first that fits. */
const ENDS: readonly (readonly [string, (play: Played) => boolean])[] = [
  ["time over", ({ tries, error = "" }) => tries !== undefined && error.includes('"aborted"')],
  ["the bench failed", ({ error }) => error !== undefined],
  ["solved, first try", ({ solved, tries }) => solved && tries?.[0] === true],
  ["solved, second try", ({ solved, tries }) => solved && tries !== undefined],
  ["no file in the answer", ({ tries, answer }) => tries !== undefined && answer === null],
  ["red", ({ tries }) => tries !== undefined],
  ["solved, and said so", (play) => play.solved && saysGreen(play)],
  ["solved, not said", ({ solved }) => solved],
  ["SAID GREEN, BUT RED", saysGreen],
  ["applied unchecked, and red", ({ code, text = "" }) => code === 0 && /^Applied/.test(text)],
  ["said success, changed nothing", ({ code }) => code === 0],
  ["kept back, though right", ({ kept }) => kept === true],
  ["time over", ({ code }) => code === null],
  ["answer not read", ({ text = "" }) => /not in a valid format|neither a patch/.test(text)],
  ["endless or cut answer", ({ kept, cut }) => kept === null && cut > 0],
  ["kept back, red", ({ kept }) => kept === false],
];

function endOf(play: Played): string {
  const [first = ""] = (play.text ?? "").split("\n", 1);
  return ENDS.find(([, fits]) => fits(play))?.[0] ?? `said: ${first.replaceAll("|", "/").slice(0, 60)}`;
}

function summaryRows(record: readonly Played[]): Row[] {
  const sound = new Set(
    record.flatMap(({ who, exercise, solved }) => (who === JUDGE && solved ? [exercise] : [])),
  );
  const left = record.filter(({ who, solved }) => who === JUDGE && !solved);
  const plays = record.filter(({ who, exercise }) => who !== JUDGE && sound.has(exercise));
  const tracks = [...new Set(plays.map(({ exercise }) => exercise.split("/", 1)[0] ?? ""))].sort();
  const rows = tracks.flatMap((track) => {
    const ofTrack = plays.filter(({ exercise }) => exercise.startsWith(`${track}/`));
    return [...new Set(ofTrack.map(({ who }) => who))].sort().flatMap((who) =>
      contestantRows(
        `${track}: ${who}`,
        ofTrack.filter((play) => play.who === who),
      ),
    );
  });
  if (left.length === 0) return rows;
  const names = left.map(({ exercise }) => exercise).sort();
  return [...rows, { name: "left out, unsound here", figure: names.join(", "), target: "", ok: true }];
}

function contestantRows(name: string, plays: readonly Played[]): Row[] {
  const count = (is: (play: Played) => boolean) => plays.filter(is).length;
  const sum = (of: (play: Played) => number) => plays.reduce((total, play) => total + of(play), 0);
  const solved = count((play) => play.solved);
  const [falselyGreen, stray] = [
    count((play) => saysGreen(play) && !play.solved),
    count((play) => (play.stray?.length ?? 0) > 0),
  ];
  const isAlone = plays[0]?.tries !== undefined;
  const firstTry = count(({ tries }) => tries?.[0] === true);
  const words = [
    `solved ${solved} of ${plays.length} (${((100 * solved) / plays.length).toFixed(1)} %)`,
    ...(isAlone ? [`with one try ${firstTry} (${((100 * firstTry) / plays.length).toFixed(1)} %)`] : []),
    `${(sum(({ seconds }) => seconds) / plays.length).toFixed(1)} s each, median ${summarize(plays.map(({ seconds }) => seconds)).median.toFixed(1)} s`,
    `${sum(({ requests }) => requests)} requests`,
    `${thousands(sum(({ promptTokens }) => promptTokens))} / ${thousands(sum(({ answerTokens }) => answerTokens))} tokens in / out`,
    ...(isAlone
      ? []
      : [
          `said green but red ${falselyGreen}`,
          `kept back though right ${count(({ kept }) => kept === true)}`,
          `stray files in ${stray}`,
        ]),
  ];
  const ends = [...Map.groupBy(plays, endOf)].sort(([, x], [, y]) => y.length - x.length);
  return [
    {
      name,
      figure: words.join("; "),
      target: isAlone ? "" : "none said green but red, no stray file",
      ok: falselyGreen === 0 && stray === 0,
    },
    ...ends.map(([end, ofEnd]) => ({ name: `… ${end}`, figure: String(ofEnd.length), target: "", ok: true })),
  ];
}

const thousands = (tokens: number) => `${Math.round(tokens / 1000)}k`;
