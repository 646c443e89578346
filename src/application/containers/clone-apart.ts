import type { PrepareFailure } from "../../domain/containers/prepare-event.ts";
import { createNetworkPolicy } from "../../domain/policy/network.ts";
import type { ContainerNetwork } from "../ports/containers.ts";
import { type CloneDeps, type CloneOutcome, cloneArchive, cloneRemote } from "./clone-repository.ts";
import { type CloneRange, PROJECT_FOLDER, type RemoteSource } from "../../domain/containers/environments-clone-plan.ts";
import type { RunIn } from "./run-in-container.ts";

/** A container of its own that may reach the repository's host, where the task's may not. */
export interface CloneContainer {
  readonly run: RunIn;
  close(): Promise<void>;
}

/** What the rules of a network let through; null without one. */
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
  parts: CloneDeps,
  openCloner: () => Promise<CloneContainer | PrepareFailure>,
  remote: RemoteSource,
  range: CloneRange,
  access: Parameters<typeof cloneRemote>[3],
): Promise<CloneOutcome> {
  const cloner = await openCloner();
  if ("ok" in cloner) return cloner;
  try {
    const cloned = await cloneRemote({ ...parts, run: cloner.run }, remote, range, access);
    if (!cloned.ok) return cloned;
    return await cloneArchive(parts, packClone(parts, cloner.run), remote.url, range);
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
    if (piece.length === 0) throw new Error("the clone broke off on its way");
    yield piece;
    at += piece.length;
  }
}

function destinationOf({ host, protocol }: RemoteSource): { host: string; port: number } {
  const url = new URL(`${protocol}://${host}`);
  return { host: url.hostname, port: Number(url.port) || (protocol === "http" ? 80 : 443) };
}
