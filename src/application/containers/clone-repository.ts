import {
  type CloneRange,
  type Credential,
  checkoutCommand,
  cloneCalls,
  DROP_SECRET,
  deepenCommand,
  gitEnvironment,
  gitInProject,
  KEEP_SECRET,
  PROJECT_FOLDER,
  type RemoteSource,
  secretText,
} from "../../domain/containers/clone-plan.ts";
import type { PrepareEvent, PrepareFailure } from "../../domain/containers/preparation.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import { createNetworkPolicy } from "../../domain/policy/network.ts";
import type { ContainerNetwork, ExecResult, LocalFailure, LocalRepositories } from "../ports/containers.ts";
import { type BesideContainer, joinIntoPieces, outputTail, type RunIn } from "./run-in-container.ts";

export interface CloneDeps {
  readonly run: RunIn;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly emit: (event: PrepareEvent) => void;
  readonly mask: (text: string) => string;
}

export type CloneOutcome = { readonly ok: true } | PrepareFailure;

/** How much more history is asked for, until two branches have a commit in common; null is all of it. */
const DEEPER: readonly (number | null)[] = [50, 500, null];

/** Clones in the container. A helper gives the credential to this host alone; it is gone before a file of the project is laid out. */
export async function cloneRemote(
  deps: CloneDeps,
  remote: RemoteSource,
  range: CloneRange,
  { credential, insecure }: { readonly credential: Credential | null; readonly insecure: boolean },
): Promise<CloneOutcome> {
  const { run, timeoutMs, signal, emit } = deps;
  const env = gitEnvironment(remote, { credential: credential !== null, insecure });
  const options = {
    signal,
    timeoutMs,
    env,
    onLine: (line: string) => emit({ type: "output", text: deps.mask(line) }),
  };
  if (credential !== null) {
    const kept = await run(KEEP_SECRET, { signal, timeoutMs, stdin: secretText(credential) });
    if (kept.exitCode !== 0) return cloneFailure(deps, kept, remote);
  }
  try {
    emit({ type: "step", step: "cloning", subject: remote.url });
    for (const words of cloneCalls(remote.url, PROJECT_FOLDER, range, "--progress")) {
      const fetched = await run(quoteWords(["git", ...words]), options);
      if (fetched.exitCode !== 0) return cloneFailure(deps, fetched, remote);
    }
    if (range.target !== undefined && range.depth !== null)
      await findCommonCommit(deps, range.target, range.ref, options);
  } finally {
    // An aborted signal would keep this from running; the container is removed then anyway.
    if (credential !== null && !signal.aborted) await run(DROP_SECRET, { signal, timeoutMs });
  }
  const laid = await layOut(deps, range);
  if (!laid.ok || credential === null) return laid;
  return (await isCredentialKept(deps, credential))
    ? { ok: false, code: "credential-kept", subject: remote.url, detail: "" }
    : laid;
}

async function findCommonCommit(
  { run, emit, signal, timeoutMs }: CloneDeps,
  target: string,
  ref: string | undefined,
  options: Parameters<RunIn>[1],
): Promise<void> {
  const source = ref?.startsWith("refs/") ? "refs/picoclaw/source" : "HEAD";
  const look = gitInProject("merge-base", source, `refs/remotes/origin/${target}`);
  for (const by of DEEPER) {
    if ((await run(look, { signal, timeoutMs })).exitCode === 0) return;
    // A complete repository cannot be deepened; then there is no merge base.
    await run(deepenCommand(by), options);
  }
  if ((await run(look, { signal, timeoutMs })).exitCode !== 0)
    emit({ type: "notice", notice: { code: "no-common-commit", target } });
}

/** A repository of this machine, sent in as an archive piece by piece. */
export async function cloneLocal(
  deps: CloneDeps,
  repositories: LocalRepositories,
  path: string,
  range: CloneRange,
): Promise<CloneOutcome> {
  const { signal, emit } = deps;
  emit({ type: "step", step: "cloning", subject: path });
  const pack = await repositories.pack(path, range, signal);
  if (!pack.ok) {
    const failure = localFailure(pack, path, deps.mask(pack.message));
    const isName = failure.code === "repository-missing" || failure.code === "ref-missing";
    return isName ? { ...failure, remedy: "check-name" } : failure;
  }
  try {
    return await cloneArchive(deps, pack.archive, path, range);
  } finally {
    pack.remove();
  }
}

/** Lays out a project from an archive of its `.git`, sent in piece by piece. */
async function cloneArchive(
  deps: CloneDeps,
  archive: AsyncIterable<Uint8Array>,
  subject: string,
  range: CloneRange,
): Promise<CloneOutcome> {
  const { run, signal, timeoutMs } = deps;
  const file = "/workspace/tmp/.project.tar";
  try {
    for await (const piece of joinIntoPieces(archive)) {
      const sent = await run(`cat >> ${file}`, { signal, timeoutMs, stdin: piece });
      if (sent.exitCode !== 0) return cloneFailure(deps, sent, null, subject);
    }
    const laid = await run(`tar -xf ${file} -C ${PROJECT_FOLDER} && rm -f ${file}`, { signal, timeoutMs });
    if (laid.exitCode !== 0) return cloneFailure(deps, laid, null, subject);
  } catch (error) {
    if (signal.aborted) return { ok: false, code: "aborted", subject, detail: "" };
    throw error;
  }
  return layOut(deps, range);
}

async function layOut(deps: CloneDeps, range: CloneRange): Promise<CloneOutcome> {
  const { run, signal, timeoutMs, emit } = deps;
  emit({ type: "step", step: "checking-out", subject: range.ref ?? "HEAD" });
  const options = { signal, timeoutMs, env: gitEnvironment(null, { credential: false, insecure: false }) };
  // A repository without a commit has nothing to lay out.
  const empty = await run(gitInProject("rev-parse", "--verify", "--quiet", "HEAD"), options);
  if (empty.exitCode === 1 && range.ref === undefined) return { ok: true };
  const done = await run(checkoutCommand(range), options);
  return done.exitCode === 0 ? { ok: true } : cloneFailure(deps, done, null);
}

/** Looks through everything that the clone left; a credential there ends the environment. */
async function isCredentialKept(
  { run, signal, timeoutMs }: CloneDeps,
  { password }: Credential,
): Promise<boolean> {
  const look = `IFS= read -r secret; grep -rqF -- "$secret" ${PROJECT_FOLDER}/.git --exclude-dir=objects "$HOME" /workspace/tmp 2>/dev/null`;
  const found = await run(look, { signal, timeoutMs, stdin: `${password}\n` });
  return found.exitCode === 0;
}

const LOCAL_FAILURES = {
  missing: "repository-missing",
  empty: "repository-missing",
  "not-a-repository": "not-a-repository",
  "ref-missing": "ref-missing",
  "no-git": "clone-failed",
  failed: "clone-failed",
  aborted: "aborted",
} as const;

export function localFailure({ code }: LocalFailure, subject: string, detail: string): PrepareFailure {
  return { ok: false, code: LOCAL_FAILURES[code], subject, detail };
}

/** Git says why in words only; what it says in English is sorted here, and the first that fits counts. */
const REASONS: readonly (readonly [RegExp, PrepareFailure["code"], PrepareFailure["remedy"]])[] = [
  [/No space left on device|Disk quota exceeded/i, "disk-full", "raise-limit"],
  // Our own proxy says why it does not let a host through.
  [/^(remote: )?picoclaw: /m, "host-unreachable", "allow-host"],
  [/Remote branch .* not found|couldn't find remote ref/i, "ref-missing", "check-name"],
  [
    /Authentication failed|could not read (Username|Password)|terminal prompts disabled|HTTP 40[13]|error: 40[13]|Access denied/i,
    "repository-denied",
    "check-token",
  ],
  [
    /repository .* not found|does not appear to be a git repository|not found|error: 404/i,
    "repository-missing",
    "check-name",
  ],
  [
    /Could not resolve (host|proxy)|Failed to connect|Connection refused|Network is unreachable|CONNECT tunnel failed|response 403|Proxy/i,
    "host-unreachable",
    "allow-host",
  ],
];

export function cloneFailure(
  { mask, timeoutMs }: Pick<CloneDeps, "mask" | "timeoutMs">,
  result: ExecResult,
  remote: RemoteSource | null,
  path = "/workspace/project",
): PrepareFailure {
  const detail = mask(outputTail(result));
  const base = { ok: false, subject: remote?.url ?? path, detail } as const;
  switch (result.outcome) {
    case "aborted":
      return { ...base, code: "aborted" };
    case "timed-out": {
      const limit = `${Math.round(timeoutMs / 1000)} s`;
      return { ...base, code: "clone-timeout", detail: limit, remedy: "raise-limit" };
    }
    case "disconnected":
    case "not-started":
      return { ...base, code: "engine" };
    case "exited":
    case "signaled": {
      if (result.limit?.kind === "disk") return { ...base, code: "disk-full", remedy: "raise-limit" };
      const [, code, remedy] = REASONS.find(([words]) => words.test(detail)) ?? [];
      return code === undefined ? { ...base, code: "clone-failed" } : { ...base, code, remedy };
    }
  }
}

/** The addresses that the rules of a network allow; null without one. */
export function reachableAddresses(network: ContainerNetwork): readonly string[] | null {
  if (network.mode === "none") return null;
  return [...(network.mode === "open" ? ["*:*"] : network.allowedDomains), ...network.allowedHosts];
}

/** Whether a container with this network can clone by itself; its proxy has the last word on addresses. */
export function canReachRemote(network: ContainerNetwork, remote: RemoteSource): boolean {
  switch (network.mode) {
    case "open":
      return true;
    case "none":
      return false;
    case "allow-list": {
      const allowed = reachableAddresses(network) ?? [];
      return createNetworkPolicy({ allowed, denied: [] }).judgeHost(destinationOf(remote)).ok;
    }
  }
}

/** The repository's host and nothing else; a private address only where the configuration opens it. */
export function networkToClone(network: ContainerNetwork, remote: RemoteSource): ContainerNetwork {
  const { host, port } = destinationOf(remote);
  const usual = port === 443 || port === 80;
  return {
    mode: "allow-list",
    allowedDomains: [usual ? host : `${host}:*`],
    allowedHosts: network.mode === "none" ? [] : network.allowedHosts,
  };
}

/** Clones there, and hands the repository over: the task's own container never had a network or a credential. */
export async function cloneApart(
  deps: CloneDeps,
  openCloner: () => Promise<BesideContainer | PrepareFailure>,
  remote: RemoteSource,
  range: CloneRange,
  access: Parameters<typeof cloneRemote>[3],
): Promise<CloneOutcome> {
  const cloner = await openCloner();
  if ("ok" in cloner) return cloner;
  try {
    const cloned = await cloneRemote({ ...deps, run: cloner.run }, remote, range, access);
    if (!cloned.ok) return cloned;
    return await cloneArchive(deps, packClone(deps, cloner.run), remote.url, range);
  } finally {
    await cloner.close();
  }
}

const ARCHIVE = "/workspace/tmp/.clone.tar";
const PIECE_BYTES = 4 * 1024 ** 2;

/** Read in turns, so that no more than a piece of it is ever held here. */
async function* packClone({ signal, timeoutMs }: CloneDeps, run: RunIn): AsyncGenerator<Uint8Array> {
  const options = { signal, timeoutMs };
  const made = await run(`tar -cf ${ARCHIVE} -C ${PROJECT_FOLDER} .git && wc -c < ${ARCHIVE}`, options);
  if (made.exitCode !== 0) throw new Error(`the clone could not be packed: ${made.stderr}`);
  const size = Number(made.stdout);
  for (let at = 0; at < size; ) {
    const parts: Uint8Array[] = [];
    await run(`tail -c +${at + 1} ${ARCHIVE} | head -c ${PIECE_BYTES}`, {
      ...options,
      onBytes: (bytes) => parts.push(bytes.slice()),
    });
    const piece = Buffer.concat(parts);
    signal.throwIfAborted();
    if (piece.length === 0) throw new Error("the clone was cut off while it was copied");
    yield piece;
    at += piece.length;
  }
}

function destinationOf({ host, protocol }: RemoteSource): { host: string; port: number } {
  const url = new URL(`${protocol}://${host}`);
  return { host: url.hostname, port: Number(url.port) || (protocol === "http" ? 80 : 443) };
}
