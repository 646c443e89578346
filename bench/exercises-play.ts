/**
 * One contestant at one exercise: the model alone, with or without the tests in sight, or PicoClaw with that model.
 * In: the exercise, the settings of the model and its server. Out: a row of the record, judged by the pristine tests.
 * The model alone has two tries and is shown the first 50 lines of what its first one breaks, as aider's benchmark does.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { complete } from "../src/application/models/complete.ts";
import type { ModelMessage } from "../src/application/ports/models.ts";
import { loadConfig } from "../src/config/load.ts";
import { mergeObjects } from "../src/domain/platform/json-members.ts";
import { openModels } from "../src/wiring/models.ts";
import { type Asked, type Relay, startRelay } from "./exercises-relay.ts";
import { type Exercise, judge, layOut, runLimited } from "./exercises-tasks.ts";
import { readReplyText } from "./record.ts";
import { remove } from "./workspaces.ts";

export interface Contest {
  /** The section of the model under `providers`, without its address. */
  readonly provider: Readonly<Record<string, unknown>>;
  readonly server: string;
  /** The folder of the program; another commit's for a comparison. */
  readonly program: string;
  /** Further settings of the program in this contest. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly scratch: string;
  /** Seconds for one exercise. */
  readonly limit: number;
}

/** One contestant at one exercise. */
export interface Played {
  readonly who: string;
  readonly exercise: string;
  readonly solved: boolean;
  /** Of the model alone: each try. */
  readonly tries?: readonly boolean[];
  readonly seconds: number;
  readonly requests: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Answers that were broken off or reached their longest. */
  readonly cut: number;
  /** Of PicoClaw: what it said and left. */
  readonly code?: number | null;
  readonly text?: string;
  readonly changed?: boolean;
  /** Files beside the solution that it left changed or new. */
  readonly stray?: readonly string[];
  /** Of a change that it kept back: whether the tests pass over it. */
  readonly kept?: boolean | null;
  readonly answer?: string | null;
  /** The end of the judge's output, where it is red. */
  readonly red?: string;
  readonly asked: readonly Asked[];
  readonly error?: string;
}

const SYSTEM = `Act as an expert software developer.
Take requests for changes to the supplied code.
Once you understand the request, reply with a brief explanation and the full new content of the file, in this form:

path/of/file
\`\`\`
the entire content of the file
\`\`\`

Never leave out or elide code with comments like "...". Always give the whole file.`;

export async function playAlone(who: string, exercise: Exercise, contest: Contest, showsTests: boolean) {
  const relay = startRelay(contest.server);
  const folder = join(contest.scratch, who, exercise.name);
  mkdirSync(folder, { recursive: true });
  const started = performance.now();
  const tries: boolean[] = [];
  let [answer, red, error]: [string | null, string, string | undefined] = [null, "", undefined];
  try {
    const ask = await openModel(folder, contest, relay);
    const messages: ModelMessage[] = [{ role: "user", text: firstMessage(exercise, showsTests) }];
    while (tries.length < 2 && !tries.includes(true)) {
      const text = await ask(messages);
      answer = wholeFile(text, exercise.solution);
      const judged =
        answer === null
          ? { green: false, output: "No file was found in the answer." }
          : await judge(exercise, answer);
      tries.push(judged.green);
      red = judged.green ? "" : judged.output;
      const errors = judged.output.split("\n").slice(0, 50).join("\n");
      messages.push(
        { role: "assistant", text },
        { role: "user", text: `${errors}\n${failedMessage(exercise)}` },
      );
    }
  } catch (caught) {
    error = String(caught);
  } finally {
    relay.stop();
    remove(folder);
  }
  return {
    who,
    exercise: exercise.name,
    solved: tries.includes(true),
    tries,
    ...figures(relay.asked, started),
    answer,
    red: red.slice(-1500),
    ...(error !== undefined && { error }),
  } satisfies Played;
}

function firstMessage({ files, solution, tests, instructions }: Exercise, showsTests: boolean): string {
  const shown = [solution, ...(showsTests ? tests : [])].map(
    (path) => `${path}\n\`\`\`\n${files.get(path)}\n\`\`\`\n\n`,
  );
  return `The files as they are:

${shown.join("")}${instructions}
####

Use the above instructions to modify the supplied files: ${solution}
Don't change the names of existing functions or classes, as they may be referenced from other code like unit tests, etc.
Only use the standard libraries, don't suggest installing any packages.
`;
}

const failedMessage = ({ solution }: Exercise) => `
####

See the testing errors above.
The tests are correct, don't try and change them.
Fix the code in ${solution} to resolve the errors.
`;

/** The block below the file's name, else the longest block; a block that never closes counts where it is the only one. */
function wholeFile(text: string, solution: string): string | null {
  const blocks = [...text.matchAll(/^```[^\n]*\n(.*?)^```/gms)];
  if (blocks.length === 0) return /^```[^\n]*\n(.*)$/ms.exec(text)?.[1] ?? null;
  const named = blocks.find(({ index }) =>
    text.slice(0, index).trimEnd().split("\n").at(-1)?.includes(solution),
  );
  const [longest] = blocks.toSorted(([, x = ""], [, y = ""]) => y.length - x.length);
  return (named ?? longest)?.[1] ?? null;
}

function configuration({ provider, settings }: Contest, relay: Relay) {
  const roles = ["chat", "worker", "coder1", "coder2", "coder3"].map((role) => [role, { provider: "bench" }]);
  return mergeObjects(
    {
      locale: "en",
      providers: { bench: { ...provider, base_url: relay.url } },
      roles: Object.fromEntries(roles),
      models: { first_token_timeout: 900, idle_timeout: 300 },
    },
    settings,
  );
}

/** Asks the model by the same client as PicoClaw, without its prompt. */
async function openModel(home: string, contest: Contest, relay: Relay) {
  writeFileSync(join(home, "config.yaml"), JSON.stringify(configuration(contest, relay)));
  const env = { ...process.env, PICOCLAW_HOME: home };
  const loaded = await loadConfig({ env, home, cwd: home });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
  const models = openModels(loaded.config, loaded.secrets, { locale: "en", home, env });
  const model = models.forRole("coder3");
  if (!("generate" in model)) throw new Error(model.message);
  return async (messages: readonly ModelMessage[]) => {
    const signal = AbortSignal.timeout(contest.limit * 1000);
    const completion = await complete(model, { system: SYSTEM, messages, maxTokens: 4096, signal });
    if (completion.kind === "finished" || completion.kind === "cut") return completion.answer.text;
    throw new Error(JSON.stringify(completion));
  };
}

export async function playProgram(who: string, exercise: Exercise, contest: Contest): Promise<Played> {
  const folder = join(contest.scratch, who, exercise.name);
  // The project is called as the exercise: a folder's name is all that some requests say about it.
  const [project, home] = [join(folder, basename(exercise.name)), join(folder, "home")];
  remove(folder);
  mkdirSync(home, { recursive: true });
  layOut(exercise, project);
  const relay = startRelay(contest.server);
  writeFileSync(join(home, "config.yaml"), JSON.stringify(configuration(contest, relay)));
  const env = {
    ...keysOf(process.env),
    HOME: folder,
    PICOCLAW_HOME: home,
    LANG: "C.UTF-8",
    GIT_CONFIG_GLOBAL: "/dev/null",
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const git = (...args: string[]) =>
    spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: project,
      env,
      encoding: "utf8",
    }).stdout;
  git("init", "-q", "-b", "main");
  writeFileSync(join(project, ".git/info/exclude"), "node_modules\n__pycache__\n.pytest_cache\n");
  git("add", "-A");
  git("commit", "-qm", "start");
  const program = (args: readonly string[], seconds: number) =>
    runLimited([join(contest.program, "bin/picoclaw"), ...args], { cwd: project, env, seconds });
  const solution = () => {
    const path = join(project, exercise.solution);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  const stub = solution();
  const started = performance.now();
  try {
    const goal = `Implement it in ${exercise.solution} so that the tests in ${exercise.tests.join(", ")} pass.`;
    const ran = await program(
      ["chat", "--json", `/code3 ${exercise.instructions}\n\n${goal}`],
      contest.limit,
    );
    const sums = figures(relay.asked, started);
    const text = readReplyText(ran.stdout) ?? ran.out.slice(-3000);
    const changed = solution() !== stub;
    const stray = git("status", "--short", "--untracked-files=all")
      .split("\n")
      .filter((line) => line !== "" && line.slice(3) !== exercise.solution);
    const judged = await judge(exercise, solution());
    const answer = changed ? solution() : null;
    const job = /picoclaw apply --job (\d+)/.exec(text)?.[1];
    let kept: { readonly green: boolean; readonly text: string } | null = null;
    if (!changed && job !== undefined) {
      await program(["apply", "--job", job], 120);
      if (solution() !== stub) kept = { green: (await judge(exercise, solution())).green, text: solution() };
    }
    return {
      who,
      exercise: exercise.name,
      solved: judged.green,
      ...sums,
      code: ran.isLate ? null : ran.code,
      text,
      changed,
      stray,
      kept: kept === null ? null : kept.green,
      answer: answer ?? kept?.text ?? null,
      red: judged.green ? "" : judged.output.slice(-1500),
    };
  } finally {
    relay.stop();
    remove(folder);
  }
}

/** The variables that hold keys, and where programs and libraries are: what a judge and a model need of this machine. */
function keysOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) =>
    /^(?:PATH|PYTHONPATH|LD_LIBRARY_PATH)$|_API_KEY$/.test(name),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""]));
}

function figures(asked: readonly Asked[], started: number) {
  const sum = (of: (one: Asked) => number) => asked.reduce((total, one) => total + of(one), 0);
  return {
    seconds: (performance.now() - started) / 1000,
    requests: asked.length,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    answerTokens: sum(({ answerTokens }) => answerTokens),
    cut: asked.filter(({ stop, isEstimated }) => stop === "length" || isEstimated).length,
    asked: [...asked],
  };
}
