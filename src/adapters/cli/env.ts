import { resolve } from "node:path";
import {
  type ContainerInfo,
  type ContainerUsage,
  EngineUnavailable,
  EnvironmentError,
  type SandboxFailure,
} from "../../application/ports/containers.ts";
import type { EnvironmentRow, OpenEnvironments } from "../../application/ports/containers-opened.ts";
import { parseRepository } from "../../domain/containers/clone-plan.ts";
import {
  containerName,
  IMAGE_RECIPES,
  isTaskUuid,
  recipeNamed,
} from "../../domain/containers/environments.ts";
import type { PrepareEvent } from "../../domain/containers/preparation.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import { quoteWords as shellWords } from "../../domain/platform/paths.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { environmentMessages } from "../../domain/texts/containers.ts";
import {
  abortable,
  type CommandLine,
  type Flags,
  fail,
  printJson,
  type RunCommand,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
  succeed,
} from "./command.ts";
import { closing, openOrStop, readFlags, runWithFlags, Stop, usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { type Waiting, whileWaiting } from "./progress-line.ts";
import { columnsOf } from "./terminal-text.ts";
import { exitCodeOf, readArguments } from "./tool.ts";

/** The `--help` entry, for every action. */
const ENV: Pick<CommandLine, "name" | "usage"> = { name: "env", usage: "env ACTION" };

type EnvAction = Pick<CommandLine, "flags" | "words"> & { readonly run: RunCommand };

const ACTIONS: Readonly<Record<string, EnvAction>> = {
  prepare: { flags: "--task= --env= --repo= --branch= --target=", run: prepare },
  exec: { flags: "--task= --timeout= --cwd= --session=", words: Number.POSITIVE_INFINITY, run: exec },
  edit: { flags: "--task= --tool=", words: 1, run: edit },
  list: { run: list },
  info: { flags: "--task=", run: info },
  cleanup: { flags: "--task=", run: cleanUp },
  prune: { run: prune },
};

/** `env list|prepare|exec|edit|info|cleanup|prune`: task environments. */
async function env(program: CliProgram, args: readonly string[]): Promise<number> {
  const at = actionAt(args);
  const name = args[at];
  const rest = args.toSpliced(at, 1);
  const action = name !== undefined && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (action !== undefined) return runWithFlags(program, { ...ENV, ...action }, rest);
  if (args.length === 0) {
    program.err((await import("./help.ts")).commandHelp(program, command));
    return EXIT.usage;
  }
  if (name === undefined) await readFlags(program, ENV, args);
  const text = environmentTexts(program).unknownSubcommand(`env ${name ?? ""}`.trim(), Object.keys(ACTIONS));
  return refuseUsage(program, text);
}

export const command: Subcommand = { ...ENV, runAction: env };

/** The first word, after flags that every command takes. */
function actionAt(args: readonly string[]): number {
  let at = 0;
  while (args[at]?.startsWith("-")) at += args[at] === "--workspace" || args[at] === "--config" ? 2 : 1;
  return at;
}

/** `env list`: every container of this installation. */
async function list(program: CliProgram, flags: Flags): Promise<number> {
  return withEnvironments(program, flags, async (environments) => {
    const rows = await environments.list();
    if ("code" in rows) return failedEngine(program, environments, rows);
    const listed = rows.map(environmentJson);
    if (program.json) return printJson(program, { environments: listed });
    if (listed.length === 0) program.out(`${environments.texts.noEnvironments}\n`);
    else
      program.out(
        `${columnsOf([
          environments.texts.listHeader,
          ...listed.map((row) => [row.task_uuid, row.environment_name, row.state, row.image, row.created_at]),
        ])}\n`,
      );
    return EXIT.done;
  });
}

/** `env info --task UUID`: one of them. */
async function info(program: CliProgram, flags: Flags): Promise<number> {
  const uuid = taskFlag(program, flags.values);
  return withEnvironments(program, flags, async (environments) => {
    const rows = await environments.list();
    if ("code" in rows) return failedEngine(program, environments, rows);
    const row = rows.find(({ facts }) => facts.taskId === uuid);
    if (row === undefined) return refuseWork(program, "no-environment", environments.texts.unknownTask(uuid));
    const usage = row.facts.state === "running" ? await environments.sandboxes.usage(row.facts.id) : null;
    const shown = { ...environmentJson(row), ...(usage?.ok === true && { usage: usageJson(usage) }) };
    if (program.json) return printJson(program, shown);
    const { usage: used, ...rest } = shown;
    const lines = Object.entries({ ...rest, ...used }).map(([key, value]) => [key, String(value ?? "-")]);
    program.out(`${columnsOf(lines)}\n`);
    return EXIT.done;
  });
}

function environmentJson({ facts, info, repository }: EnvironmentRow) {
  return {
    task_uuid: facts.taskId,
    container_id: facts.id,
    name: facts.name,
    environment_name: info?.environment_name ?? facts.labels["picoclaw.environment"] ?? "-",
    image: facts.image,
    state: facts.state === "running" && info?.status === "ready" ? "ready" : facts.state,
    workspace_path: info?.workspace_path ?? "/workspace/project",
    repository,
    created_at: facts.createdAt,
  };
}

function usageJson({ ok: _, cpuSeconds, ...usage }: ContainerUsage): object {
  return snakeCased({ ...usage, cpuSeconds: Number(cpuSeconds.toFixed(1)) }) as object;
}

/** `env prepare --task UUID [--env NAME] --repo URL|PATH [--branch B] [--target B]` */
async function prepare(program: CliProgram, flags: Flags): Promise<number> {
  const { values } = flags;
  const uuid = taskFlag(program, values);
  const repository = repositoryFromHere(program, requiredFlag(program, values, "repo"));
  return withEnvironments(program, flags, async (environments) => {
    const { manager, texts, messages } = environments;
    const known = Object.keys(manager.getAvailableEnvironments());
    // A wrong name on the command line is a mistake of the person; a model's falls back to the default.
    if (typeof values.env === "string" && !known.includes(values.env))
      throw usageStop(program, texts.unknownEnvironment(values.env, known));
    const task = {
      uuid,
      repository,
      ...(typeof values.branch === "string" && { branch: values.branch }),
      ...(typeof values.target === "string" && { targetBranch: values.target }),
    };
    const prepared = await whileWaiting(program, messages.waitsFor.prepare, (waiting) =>
      abortable((signal) =>
        manager.tryPrepare(task, typeof values.env === "string" ? values.env : null, {
          signal,
          lease: "detached",
          onEvent: printPrepareEvents(program, environments, waiting),
        }),
      ),
    );
    if (!prepared.ok) {
      const { code, subject, detail, remedy } = prepared;
      const advice = remedy === undefined ? "" : `\n${texts.remedy(remedy, subject)}`;
      const text = `${texts.failure(code, subject, detail)}${advice}`;
      const exitCode = code === "bad-input" ? EXIT.usage : EXIT.refused;
      return fail(program, { exitCode, code, text });
    }
    const { container, image, installed, notices, from } = prepared;
    if (program.json)
      return printJson(program, { success: true, ...container, image, from, installed, notices });
    const name = containerName(uuid);
    program.out(
      `${texts.prepared({ name, environment: container.environment_name, image, path: container.workspace_path })}\n`,
    );
    if (installed.length > 0)
      program.out(
        `${texts.installed({ done: installed.filter(({ success }) => success).length, total: installed.length })}\n`,
      );
    for (const notice of notices) {
      const label = notice.code === "detected" ? " " : messages.warningLabel;
      program.out(`${label} ${texts.notice(notice)}\n`);
    }
    program.out(`${texts.nextSteps(uuid)}\n`);
    return EXIT.done;
  });
}

/** A folder is resolved against the current directory. */
function repositoryFromHere(program: CliProgram, given: string): string {
  const parsed = parseRepository(given);
  return parsed.ok && parsed.source.kind === "local" ? resolve(program.cwd, parsed.source.path) : given;
}

function printPrepareEvents(
  program: CliProgram,
  { texts }: OpenEnvironments,
  waiting: Waiting,
): (event: PrepareEvent) => void {
  if (program.json || !program.errIsTerminal) return () => {};
  return (event) => {
    if (event.type === "step") {
      const step = texts.step(event.step, event.subject);
      waiting.print(`· ${step}`);
      waiting.now(step);
    }
    if (event.type === "output") waiting.print(`    ${event.text.slice(0, 200)}`);
  };
}

const LONGEST_SECONDS = 7 * 24 * 3600;
const TAIL_CHARS = 4096;

/** `env exec --task UUID [--timeout S] [--cwd DIR] -- COMMAND`: one word is a shell's line, several are its words. */
async function exec(program: CliProgram, flags: Flags): Promise<number> {
  const { values, words } = flags;
  const uuid = taskFlag(program, values);
  const timeoutSeconds = values.timeout === undefined ? undefined : Number(values.timeout);
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds <= LONGEST_SECONDS))
    throw usageStop(program, environmentTexts(program).badTimeout(String(values.timeout)));
  const [first, ...rest] = words;
  if (first === undefined || (first.trim() === "" && rest.length === 0))
    throw usageStop(program, environmentTexts(program).noCommand);
  const command = rest.length === 0 ? first : shellWords(words);
  return withEnvironments(program, flags, async (environments) => {
    const info = readyEnvironment(program, environments, uuid);
    let errors = "";
    const show = (stream: "stdout" | "stderr", text: string) => {
      if (stream === "stdout") return program.out(text);
      errors = (errors + text).slice(-TAIL_CHARS);
      program.err(text);
    };
    const result = await abortable((signal) =>
      environments.manager.executeIn(info, command, typeof values.cwd === "string" ? values.cwd : null, {
        signal,
        byHand: true,
        ...(!program.json && { onOutput: show }),
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
        ...(typeof values.session === "string" && { session: values.session }),
      }),
    );
    if (program.json) printJson(program, result);
    else {
      // The reason why it ended is the last line and not output of the command.
      const why = result.stderr.trimEnd().split("\n").at(-1) ?? "";
      if (!errors.trimEnd().endsWith(why)) program.err(`${why}\n`);
    }
    return result.exit_code === 0 ? EXIT.done : EXIT.failed;
  });
}

/** The environment of a task; without one that can be used it says so and stops. */
function readyEnvironment(
  program: CliProgram,
  { manager, texts }: OpenEnvironments,
  uuid: string,
): ContainerInfo {
  const info = manager.getContainerInfo(uuid);
  if (info?.status === "ready") return info;
  const text = info === null ? texts.unknownTask(uuid) : texts.notReady(uuid);
  throw new Stop(refuseWork(program, "no-environment", text));
}

/** `env edit --task UUID [--tool NAME] [ARGS|-]`: one call of the text editor, or another tool, on its files. */
async function edit(program: CliProgram, flags: Flags): Promise<number> {
  const { values, words } = flags;
  const uuid = taskFlag(program, values);
  const read = readArguments(program, words[0]);
  const asked = { ...program, json: true };
  if (!read.ok) return refuseInput(asked, "arguments", read.text);
  return withEnvironments(program, flags, async (environments) => {
    const info = readyEnvironment(asked, environments, uuid);
    const tool = typeof values.tool === "string" ? values.tool : "text_editor";
    const envelope = await abortable((signal) => environments.callTool(info, tool, read.args, signal));
    program.out(`${toShownJson(envelope, 2)}\n`);
    return exitCodeOf(envelope);
  });
}

/** `env cleanup --task UUID`: removes a task's container, volumes and network. */
async function cleanUp(program: CliProgram, flags: Flags): Promise<number> {
  const uuid = taskFlag(program, flags.values);
  return withEnvironments(program, flags, async ({ manager, texts }) => {
    const { removed, leftovers } = await manager.cleanup(uuid);
    if (program.json)
      printJson(program, { success: leftovers.length === 0, task_uuid: uuid, removed, leftovers });
    else {
      const name = containerName(uuid);
      program.out(`${removed ? texts.removed(name) : texts.nothingToRemove(name)}\n`);
      for (const { kind, name: left, reason } of leftovers)
        program.err(`${texts.leftOver(kind, left, reason)}\n`);
    }
    return leftovers.length === 0 ? EXIT.done : EXIT.failed;
  });
}

/** `env prune`: removes what dead processes and old tasks left. */
async function prune(program: CliProgram, flags: Flags): Promise<number> {
  return withEnvironments(program, flags, async ({ manager, texts }) => {
    const removed = await manager.cleanupStaleContainers().catch((error: unknown) => {
      if (error instanceof EnvironmentError) return error;
      throw error;
    });
    return typeof removed === "number"
      ? succeed(program, { success: true, removed }, texts.pruned(removed))
      : refuseWork(program, "engine", texts.failure("engine", "prune", removed.message));
  });
}

/** Does something with the environments of the workspace that the common flags name, and closes them. */
async function withEnvironments(
  program: CliProgram,
  { values }: Flags,
  use: (environments: OpenEnvironments) => Promise<number>,
): Promise<number> {
  const { environments } = await openOrStop(program, values, program.openEnvironments, "configuration");
  await using _ = closing(environments);
  const { messages, warnings } = environments;
  for (const warning of warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  try {
    return await use(environments);
  } catch (error) {
    if (error instanceof EngineUnavailable) return failedEngine(program, environments, error.failure);
    throw error;
  }
}

/** A container's failure in the common form: nothing ran. */
function failedEngine(
  program: CliProgram,
  { texts }: OpenEnvironments,
  { code, detail }: SandboxFailure,
): number {
  const remedy = code === "engine-unreachable" ? `\n${texts.remedy("start-docker", "")}` : "";
  return refuseWork(program, code, `${texts.failure("engine", code, detail)}${remedy}`);
}

/** The task that `--task` names; without one, or with one that cannot be, it says so and stops. */
function taskFlag(program: CliProgram, values: Flags["values"]): string {
  const given = requiredFlag(program, values, "task");
  if (!isTaskUuid(given)) throw usageStop(program, environmentTexts(program).badTask(given));
  return given;
}

function requiredFlag(program: CliProgram, values: Flags["values"], name: string): string {
  const given = values[name];
  if (typeof given === "string" && given !== "") return given;
  throw usageStop(program, environmentTexts(program).missingOption(`--${name}`));
}

const usageStop = (program: CliProgram, text: string) => new Stop(refuseUsage(program, text));

/** Before the configuration is read, only the environment says which language. */
const environmentTexts = ({ locale }: CliProgram) => environmentMessages(locale);

/** `images build [NAME] [--from debian-rootfs|IMAGE] [--again]`: the images of environments; all of them without a name. */
export const imagesCommand: Subcommand = {
  name: "images",
  usage: "images build [NAME]",
  flags: "--from= --again",
  words: 2,
  run: images,
};

const RECIPES = IMAGE_RECIPES.map(({ name }) => name);

async function images(program: CliProgram, flags: Flags): Promise<number> {
  const { values } = flags;
  const [action, name] = flags.words;
  if (action !== "build")
    throw usageStop(
      program,
      action === undefined
        ? usageText(program, imagesCommand)
        : environmentTexts(program).unknownSubcommand(`images ${action}`, ["build"]),
    );
  const named = name === undefined ? undefined : recipeNamed(name);
  if (name !== undefined && named === undefined)
    throw usageStop(program, environmentTexts(program).unknownImage(name, RECIPES));
  const built: string[] = [];
  const shown = program.errIsTerminal && !program.json;
  return withEnvironments(program, flags, async (environments) => {
    const { messages, texts } = environments;
    for (const recipe of named === undefined ? IMAGE_RECIPES : [named]) {
      const said: string[] = [];
      const outcome = await whileWaiting(program, messages.waitsFor.image(recipe.name), (waiting) =>
        abortable((signal) =>
          environments.buildImage({
            name: recipe.name,
            ...(typeof values.from === "string" && { from: values.from }),
            again: values.again === true,
            signal,
            onImage: (image, what) => {
              if (!program.json) program.out(`${texts.image(image, what)}\n`);
            },
            onLine: (line) => {
              said.push(line);
              if (said.length > 20) said.shift();
              if (shown) waiting.print(`    ${line}`);
            },
          }),
        ),
      );
      if (!outcome.ok) {
        const text = [
          texts.failure("image-failed", outcome.name, outcome.message),
          ...(outcome.code === "root-missing" ? [texts.rootNeedsRoot] : []),
          ...(outcome.code === "no-root" ? [texts.buildFrom] : []),
          ...(shown ? [] : said),
        ].join("\n");
        const exitCode =
          outcome.code === "build-failed" || outcome.code === "no-root" ? EXIT.failed : EXIT.refused;
        return fail(program, { exitCode, code: outcome.code, text });
      }
      built.push(...outcome.built);
    }
    if (program.json) return printJson(program, { success: true, built });
    for (const image of built) program.out(`${texts.image(image, "built")}\n`);
    return EXIT.done;
  });
}
