import { PROJECT_FOLDER } from "../../domain/containers/clone-plan.ts";
import {
  gitOverHttps,
  type InstallStep,
  PINNED_FILES,
  pinnedPackages,
  planDependencies,
  requirementLines,
  requirementName,
  unfetchedPackages,
} from "../../domain/containers/dependency-plan.ts";
import {
  type AddressesOf,
  type InstallTrouble,
  type PrepareEvent,
  refusedHosts,
} from "../../domain/containers/preparation.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import type { DownloadStore, ExecResult } from "../ports/containers.ts";
import {
  type BesideContainer,
  joinIntoPieces,
  outputTail,
  type RunIn,
  type RunInOptions,
} from "./run-in-container.ts";

const NPM_ROUNDS = 3;
const MOST_REQUIREMENTS = 100;
const KEPT_MANIFEST = "/workspace/tmp/.picoclaw-package.json";
const LEFT_OUT = "picoclaw: left out: ";

interface InstallRestDeps {
  /** Runs a way to install in the project's folder, within what is left of the time. */
  readonly tryWay: (command: string) => Promise<ExecResult>;
  /** Runs a short command of our own there, however late it is, and returns what it printed. */
  readonly ask: (command: string) => Promise<string>;
}

/** One package that cannot be fetched stops npm and pip. Installs the others; returns those left out, or null where that does not help. */
async function installRest(
  deps: InstallRestDeps,
  step: InstallStep,
  failed: { readonly command: string; readonly output: string },
): Promise<readonly string[] | null> {
  if (failed.command.startsWith("npm ")) return restOfNpm(deps, failed.output);
  if (step.file === "requirements.txt") return restOfPip(deps, failed.command);
  return null;
}

/** npm names one culprit at a time. */
async function restOfNpm(
  { tryWay, ask }: InstallRestDeps,
  output: string,
): Promise<readonly string[] | null> {
  const manifest = await ask("cat package.json");
  const leftOut: string[] = [];
  let said = output;
  for (let round = 0; round < NPM_ROUNDS; round++) {
    const blamed = unfetchedPackages(said, manifest).filter((name) => !leftOut.includes(name));
    if (blamed.length === 0) return null;
    leftOut.push(...blamed);
    const result = await tryWay(npmWithout(leftOut)).finally(() => ask(RESTORE_COMMAND));
    if (result.exitCode === 0) return leftOut;
    if (result.outcome !== "exited") return null;
    said = `${result.stdout}\n${result.stderr}`;
  }
  return null;
}

/** The manifest is put back whether or not the installation succeeded. */
const RESTORE_COMMAND = `if [ -f ${KEPT_MANIFEST} ]; then mv ${KEPT_MANIFEST} package.json; fi`;
const DROP_SCRIPT =
  'const fs=require("fs"),p=JSON.parse(fs.readFileSync("package.json","utf8"));' +
  'for(const k of ["dependencies","devDependencies","optionalDependencies"])for(const n of process.argv.slice(1))if(p[k])delete p[k][n];' +
  'fs.writeFileSync("package.json",JSON.stringify(p))';

function npmWithout(names: readonly string[]): string {
  return `cp package.json ${KEPT_MANIFEST} && node -e '${DROP_SCRIPT}' -- ${quoteWords(names)} && npm install --no-save --no-package-lock --no-audit --no-fund --no-progress`;
}

async function restOfPip(
  { tryWay, ask }: InstallRestDeps,
  command: string,
): Promise<readonly string[] | null> {
  const files = [...command.matchAll(/-r (\S+)/g)].map(([, file = ""]) => file);
  const texts = await Promise.all(files.map((file) => ask(`cat ./${file}`)));
  const lines = texts.flatMap(requirementLines).slice(0, MOST_REQUIREMENTS);
  if (lines.length < 2) return null;
  const { outcome, stdout } = await tryWay(
    `for one in ${quoteWords(lines)}; do pip install --no-input "$one" || echo "${LEFT_OUT}$one"; done`,
  );
  if (outcome !== "exited") return null;
  const leftOut = stdout
    .split("\n")
    .flatMap((line) => (line.startsWith(LEFT_OUT) ? [line.slice(LEFT_OUT.length)] : []));
  return leftOut.length < lines.length ? leftOut.map(requirementName) : null;
}

export interface InstallDeps
  extends Pick<DownloadCacheDeps, "run" | "timeoutMs" | "signal" | "emit" | "env"> {
  readonly mask: (text: string) => string;
  readonly clock: () => number;
  /** The addresses that the network's rules allow; null without a network. */
  readonly reachable: readonly string[] | null;
  readonly addressesOf: AddressesOf;
}

export interface InstallOutcome {
  readonly file: string;
  readonly command: string;
  readonly success: boolean;
}

/** Installs what the project's files call for, all within one time limit. A notice names what fails; the rest continues. */
export async function installDependencies(
  deps: InstallDeps,
  files: readonly string[],
): Promise<readonly InstallOutcome[]> {
  const deadline = deps.clock() + deps.timeoutMs;
  const done: InstallOutcome[] = [];
  for (const step of planDependencies(files)) {
    if (deps.signal.aborted) break;
    const command = await commandFor(deps, step);
    if (command === null) {
      const { program, file } = step;
      deps.emit({ type: "notice", notice: { code: "program-missing", program, file } });
      done.push({ file, command: step.command, success: false });
      continue;
    }
    done.push(await runInstallStep(deps, step, command, deadline));
  }
  return done;
}

/** Which of a step's ways the image can go. */
async function commandFor({ run, signal }: InstallDeps, step: InstallStep): Promise<string | null> {
  const has = async (program: string) =>
    (await run(`command -v ${program}`, { signal, timeoutMs: 30_000 })).exitCode === 0;
  if (await has(step.program)) return step.command;
  if (step.instead !== undefined && (await has(step.instead.program))) return step.instead.command;
  return null;
}

async function runInstallStep(
  deps: InstallDeps,
  step: InstallStep,
  command: string,
  deadline: number,
): Promise<InstallOutcome> {
  const { run, signal, emit, mask, clock } = deps;
  const { file } = step;
  const tryWay = (way: string) =>
    run(way, {
      signal,
      timeoutMs: Math.max(deadline - clock(), 1),
      cwd: PROJECT_FOLDER,
      env: { ...gitOverHttps(), ...deps.env },
      onLine: (line) => emit({ type: "output", text: mask(line) }),
    });
  const ways =
    command === step.command && step.otherwise !== undefined ? [command, step.otherwise] : [command];
  let last = { command, result: null as ExecResult | null };
  for (const way of ways) {
    emit({ type: "step", step: "installing", subject: way });
    const result = await tryWay(way);
    if (result.exitCode === 0) return { file, command: way, success: true };
    last = { command: way, result };
    if (result.outcome !== "exited") break;
  }
  if (last.result !== null && !signal.aborted) {
    const { stdout, stderr, outcome } = last.result;
    const ask = async (command: string) =>
      (await run(command, { signal, timeoutMs: 30_000, cwd: PROJECT_FOLDER })).stdout;
    const failed = { command: last.command, output: `${stdout}\n${stderr}` };
    const leftOut = outcome === "exited" ? await installRest({ tryWay, ask }, step, failed) : null;
    const notice = {
      code: "install-failed",
      command: last.command,
      why: await installTrouble(last.command, last.result, deps),
      output: mask(outputTail(last.result)),
      leftOut,
    } as const;
    emit({ type: "notice", notice });
  }
  return { file, command: last.command, success: false };
}

async function installTrouble(
  command: string,
  { outcome, exitCode, failure, limit, stdout, stderr }: ExecResult,
  { timeoutMs, reachable, addressesOf }: InstallDeps,
): Promise<InstallTrouble> {
  const hosts = await refusedHosts({ command, output: `${stdout}\n${stderr}` }, reachable, addressesOf);
  if (hosts.length > 0) return { kind: "refused", hosts };
  if (outcome === "timed-out") return { kind: "timeout", seconds: Math.round(timeoutMs / 1000) };
  if (limit !== undefined) return { kind: "other", detail: `${limit.kind} limit` };
  if (exitCode !== null) return { kind: "exit", exitCode };
  return { kind: "other", detail: failure?.detail ?? outcome };
}

export interface DownloadCacheDeps {
  readonly store: DownloadStore;
  readonly run: RunIn;
  /** A container of the same image that has nothing of the project; null if there is none. */
  readonly openFetcher: () => Promise<BesideContainer | null>;
  /** The parts of the key beside the packages: the image, and the indexes. */
  readonly salt: string;
  readonly sha256: (bytes: Uint8Array) => string;
  /** The indexes, as variables of the installers. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly emit: (event: PrepareEvent) => void;
}

const LOCK_BYTES = 16 * 1024 ** 2;
const FETCHED_FOLDER = "/workspace/tmp/.downloads";

/**
 * Lays out packages that were fetched before, and returns the variables by which installers find them. A container that never sees
 * the project fetches missing ones by name and exact version: a task cannot write what others read. A failure only costs time.
 */
export async function layOutDownloads(
  deps: DownloadCacheDeps,
  files: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const env: Record<string, string> = {};
  for (const step of planDependencies(files)) {
    const ecosystem = PINNED_FILES[step.file];
    if (ecosystem === undefined || deps.signal.aborted) continue;
    const npmRegistry = ecosystem === "npm" ? await npmRegistryIn(deps) : null;
    const packages = pinnedPackages(ecosystem, await lockOf(deps, step), { npmRegistry });
    if (packages.length === 0) continue;
    const key = deps.sha256(Buffer.from(JSON.stringify([ecosystem, deps.salt, packages]))).slice(0, 40);
    if (!deps.store.has(key) && !(await fetchAll(deps, ecosystem, packages, key))) continue;
    if (!(await unpack(deps, ecosystem, key))) continue;
    Object.assign(env, variablesFor(ecosystem));
  }
  return env;
}

/** The registry of the container's own npm, read outside of the project: no file of it has a say. */
async function npmRegistryIn(deps: DownloadCacheDeps): Promise<string | null> {
  const configured = deps.env.npm_config_registry;
  if (configured !== undefined) return configured;
  const said = await deps.run("npm config get registry", besideProject(deps));
  const url = said.stdout.trim();
  return said.exitCode === 0 && URL.canParse(url) ? url : null;
}

async function lockOf(deps: DownloadCacheDeps, { file }: InstallStep): Promise<string> {
  const command = quoteWords(["cat", `${PROJECT_FOLDER}/${file}`]);
  const read = await deps.run(command, { ...besideProject(deps), limitBytes: LOCK_BYTES });
  return read.exitCode === 0 && read.truncatedBytes === 0 ? read.stdout : "";
}

async function fetchAll(
  deps: DownloadCacheDeps,
  ecosystem: "npm" | "pip",
  packages: readonly string[],
  key: string,
): Promise<boolean> {
  deps.emit({ type: "step", step: "fetching", subject: String(packages.length) });
  const fetcher = await deps.openFetcher();
  if (fetcher === null) return false;
  const fresh = deps.store.create(key);
  try {
    const stdin = `${packages.join("\n")}\n`;
    const fetched = await fetcher.run(FETCH_COMMANDS[ecosystem], { ...besideProject(deps), stdin });
    if (fetched.exitCode !== 0) return false;
    const packed = await fetcher.run(`tar -cf - -C ${FETCHED_FOLDER} ${ecosystem}`, {
      ...besideProject(deps),
      onBytes: (bytes) => fresh.write(bytes),
    });
    if (packed.exitCode !== 0) return false;
    fresh.keep();
    return true;
  } finally {
    fresh.drop();
    await fetcher.close();
  }
}

const PIP = `pip download --quiet --retries 0 --timeout 15 --no-deps --only-binary=:all: --dest ${FETCHED_FOLDER}/pip --`;

/** Packages without a wheel would be built by their own code, so the task gets them. Nothing waits for an index that does not answer. */
const FETCH_COMMANDS = {
  npm: `mkdir -p ${FETCHED_FOLDER}/npm && xargs -r -n 100 npm cache add --fetch-retries=0 --fetch-timeout=30000 --cache ${FETCHED_FOLDER}/npm --`,
  pip:
    `mkdir -p ${FETCHED_FOLDER}/pip && cat > ${FETCHED_FOLDER}/list && ` +
    `{ xargs -r -n 5000 ${PIP} < ${FETCHED_FOLDER}/list || timeout 60 xargs -r -n 1 -P 4 ${PIP} < ${FETCHED_FOLDER}/list; ls -A ${FETCHED_FOLDER}/pip | grep -q .; }`,
} as const;

function variablesFor(ecosystem: "npm" | "pip"): Readonly<Record<string, string>> {
  return ecosystem === "npm"
    ? { npm_config_cache: `${FETCHED_FOLDER}/npm`, npm_config_prefer_offline: "true" }
    : { PIP_FIND_LINKS: `${FETCHED_FOLDER}/pip` };
}

async function unpack(deps: DownloadCacheDeps, ecosystem: "npm" | "pip", key: string): Promise<boolean> {
  const archive = `${FETCHED_FOLDER}/${ecosystem}.tar`;
  const succeeds = async (command: string, stdin?: Uint8Array) =>
    (await deps.run(command, { ...besideProject(deps), stdin })).exitCode === 0;
  if (!(await succeeds(`mkdir -p ${FETCHED_FOLDER} && : > ${archive}`))) return false;
  for await (const piece of joinIntoPieces(deps.store.read(key)))
    if (!(await succeeds(`cat >> ${archive}`, piece))) return false;
  return succeeds(`tar -xf ${archive} -C ${FETCHED_FOLDER} && rm ${archive}`);
}

function besideProject({ timeoutMs, signal, env }: DownloadCacheDeps): RunInOptions {
  return { cwd: "/workspace/tmp", env, timeoutMs, signal };
}
