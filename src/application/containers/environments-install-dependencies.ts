import { type InstallStep, planDependencies } from "../../domain/containers/dependency-plan.ts";
import { gitOverHttps } from "../../domain/containers/git-over-https.ts";
import type { InstallTrouble, PrepareEvent } from "../../domain/containers/prepare-event.ts";
import { type AddressesOf, refusedHosts } from "../../domain/containers/refused-hosts.ts";
import type { ExecResult } from "../ports/containers.ts";
import { PROJECT_FOLDER } from "../../domain/containers/environments-clone-plan.ts";
import { installRest } from "./install-rest.ts";
import { outputTail, type RunIn } from "./run-in-container.ts";

export interface InstallDeps {
  readonly run: RunIn;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly emit: (event: PrepareEvent) => void;
  readonly mask: (text: string) => string;
  readonly clock: () => number;
  /** What the network's rules let through; null without a network. */
  readonly reachable: readonly string[] | null;
  readonly addressesOf: AddressesOf;
  /** Variables for installations only: where downloads are cached. */
  readonly env: Readonly<Record<string, string>>;
}

export interface InstallOutcome {
  readonly file: string;
  readonly command: string;
  readonly success: boolean;
}

/** Installs what the project's files call for, all within one time limit. A notice names what fails; the rest goes on. */
export async function installDependencies(
  parts: InstallDeps,
  files: readonly string[],
): Promise<readonly InstallOutcome[]> {
  const deadline = parts.clock() + parts.timeoutMs;
  const done: InstallOutcome[] = [];
  for (const step of planDependencies(files)) {
    if (parts.signal.aborted) break;
    const command = await commandFor(parts, step);
    if (command === null) {
      const { program, file } = step;
      parts.emit({ type: "notice", notice: { code: "program-missing", program, file } });
      done.push({ file, command: step.command, success: false });
      continue;
    }
    done.push(await runInstallStep(parts, step, command, deadline));
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
  parts: InstallDeps,
  step: InstallStep,
  command: string,
  deadline: number,
): Promise<InstallOutcome> {
  const { run, signal, emit, mask, clock } = parts;
  const { file } = step;
  const tryWay = (way: string) =>
    run(way, {
      signal,
      timeoutMs: Math.max(deadline - clock(), 1),
      cwd: PROJECT_FOLDER,
      env: { ...gitOverHttps(), ...parts.env },
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
      why: await installTrouble(last.command, last.result, parts),
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
