import type { ContainerFacts, SandboxFailure } from "../../application/ports/containers.ts";
import { LABEL } from "./container-body.ts";
import type { Engine } from "./docker-engine.ts";

/** The engine's own words for containers, as far as they are needed here. */
export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly Image: string;
  readonly Created: number;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface InspectedContainer {
  readonly Id: string;
  readonly Name: string;
  readonly Created: string;
  readonly Image: string;
  readonly State: { readonly Status: string; readonly Running: boolean };
  readonly Config: { readonly Image: string; readonly Labels: Readonly<Record<string, string>> | null };
}

export interface ExecToCreate {
  readonly argv: readonly string[];
  readonly env?: readonly string[];
  readonly stdin: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Prepares a program to run in a container, at its root and without a terminal; attaching to it starts it. */
export function createExec(engine: Engine, container: string, { argv, env, stdin, signal }: ExecToCreate) {
  return engine.call<{ readonly Id: string }>("POST", `/containers/${container}/exec`, {
    body: {
      AttachStdin: stdin,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      ...(env !== undefined && { Env: env }),
      WorkingDir: "/",
      Cmd: argv,
    },
    signal,
  });
}

export function inspectContainer(engine: Engine, name: string, signal: AbortSignal | undefined) {
  return engine.call<InspectedContainer>("GET", `/containers/${encodeURIComponent(name)}/json`, { signal });
}

export function inspectImage(engine: Engine, name: string, signal: AbortSignal | undefined) {
  return engine.call<{
    readonly Id: string;
    readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null };
  }>("GET", `/images/${encodeURIComponent(name)}/json`, { signal });
}

/** Of one installation, warm ones and proxies too. */
export async function listOwnContainers(
  engine: Engine,
  installation: string,
  signal: AbortSignal | undefined,
): Promise<readonly ListedContainer[] | SandboxFailure> {
  const filters = JSON.stringify({ label: [`${LABEL.installation}=${installation}`] });
  const listed = await engine.call<readonly ListedContainer[]>("GET", "/containers/json", {
    query: { all: true, filters },
    signal,
  });
  return listed.ok ? listed.value : listed;
}

export function listedContainerName({ Names, Id }: ListedContainer): string {
  return Names[0]?.replace(/^\//, "") ?? Id;
}

/** A container that a warm one became has its task in its name. */
export function containerTask(name: string, labels: Readonly<Record<string, string>>): string {
  return labels[LABEL.task] || name.replace(/^(?:coding-agent-exec|agent-runner)-/, "");
}

export function listedContainerFacts(listed: ListedContainer): ContainerFacts {
  const { Id: id, Image: image, Labels: labels, Created, State: status } = listed;
  const createdAt = new Date(Created * 1000).toISOString();
  return toFacts({ id, name: listedContainerName(listed), image, labels, createdAt }, status);
}

export function inspectedContainerFacts(inspected: InspectedContainer): ContainerFacts {
  const { Id: id, Name, Config, Created: createdAt, State } = inspected;
  const name = Name.replace(/^\//, "");
  return toFacts({ id, name, image: Config.Image, labels: Config.Labels ?? {}, createdAt }, State.Status);
}

function toFacts(known: Omit<ContainerFacts, "ok" | "taskId" | "state">, status: string): ContainerFacts {
  const taskId = containerTask(known.name, known.labels);
  return { ok: true, ...known, taskId, state: containerState(status) };
}

function containerState(status: string): ContainerFacts["state"] {
  if (status === "created" || status === "running" || status === "paused") return status;
  return status === "restarting" ? "running" : "stopped";
}

export interface FreezeDeps {
  readonly engine: Pick<Engine, "call">;
  readonly pause: (ms: number) => Promise<void>;
}

const FREEZE_TRIES = 20;
const FREEZE_PAUSE_MS = 25;
/** No further try changes these. */
const FINAL: ReadonlySet<SandboxFailure["code"]> = new Set([
  "container-missing",
  "container-stopped",
  "engine-unreachable",
  "engine-forbidden",
]);

/**
 * Pauses a container; true once it is paused. The engine learns of its own pauses late, and one that has just resumed may count as
 * paused: a refusal is believed only when it is repeated.
 */
export async function freezeContainer({ engine, pause }: FreezeDeps, container: string): Promise<boolean> {
  let refusal = "";
  for (let tried = 0; tried < FREEZE_TRIES; tried++) {
    const answer = await engine.call("POST", `/containers/${container}/pause`);
    if (answer.ok) return true;
    if (FINAL.has(answer.code)) return false;
    refusal = answer.detail;
    await pause(FREEZE_PAUSE_MS);
  }
  return /is already paused/.test(refusal);
}

/** Resumes a container. One that is paused but counts as running for a moment is paused once more first. */
export async function thawContainer({ engine, pause }: FreezeDeps, container: string): Promise<void> {
  for (let tried = 0; tried < FREEZE_TRIES; tried++) {
    const answer = await engine.call("POST", `/containers/${container}/unpause`);
    if (answer.ok || FINAL.has(answer.code)) return;
    await pause(FREEZE_PAUSE_MS);
    if (/is not paused/.test(answer.detail)) await engine.call("POST", `/containers/${container}/pause`);
  }
}
