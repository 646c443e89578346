import { type InstallStep, planDependencies } from "../../domain/containers/dependency-plan.ts";
import { PINNED_FILES, pinnedPackages } from "../../domain/containers/pinned-packages.ts";
import type { PrepareEvent } from "../../domain/containers/prepare-event.ts";
import type { DownloadStore } from "../ports/download-store.ts";
import type { ExecResult, SandboxManager } from "../ports/containers.ts";
import { PROJECT_FOLDER, quoteWords } from "../../domain/containers/environments-clone-plan.ts";
import { joinIntoPieces } from "./in-pieces.ts";

export interface DownloadCacheDeps {
  readonly store: DownloadStore;
  readonly sandboxes: Pick<SandboxManager, "exec">;
  /** A container of the same image that has nothing of the project; null where there is none. */
  readonly openFetcher: () => Promise<{ readonly id: string; close(): Promise<void> } | null>;
  /** What goes into the key beside the packages: the image, and the indexes. */
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
const OUTPUT_BYTES = 64 * 1024;

/**
 * Lays out packages that were fetched before, and says by which variables the installers find them. What is not there
 * yet is fetched by a container that never sees the project, by name and exact version alone: a task reads what others
 * fetched, and has no way to write it. Whatever fails here only costs time.
 */
export async function layOutDownloads(
  parts: DownloadCacheDeps,
  container: string,
  files: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const env: Record<string, string> = {};
  for (const step of planDependencies(files)) {
    const ecosystem = PINNED_FILES[step.file];
    if (ecosystem === undefined || parts.signal.aborted) continue;
    const npmRegistry = ecosystem === "npm" ? await npmRegistryIn(parts, container) : null;
    const packages = pinnedPackages(ecosystem, await lockOf(parts, container, step), { npmRegistry });
    if (packages.length === 0) continue;
    const key = parts.sha256(Buffer.from(JSON.stringify([ecosystem, parts.salt, packages]))).slice(0, 40);
    if (!parts.store.has(key) && !(await fetchAll(parts, ecosystem, packages, key))) continue;
    if (!(await unpack(parts, container, ecosystem, key))) continue;
    Object.assign(env, variablesFor(ecosystem));
  }
  return env;
}

/** What the container's own npm says, outside of the project, so that no file of the project has a say. */
async function npmRegistryIn(parts: DownloadCacheDeps, container: string): Promise<string | null> {
  const configured = parts.env.npm_config_registry;
  if (configured !== undefined) return configured;
  const said = await runDownloadCommand(parts, container, quoteWords(["npm", "config", "get", "registry"]));
  const url = said.stdout.trim();
  return said.exitCode === 0 && URL.canParse(url) ? url : null;
}

async function lockOf(parts: DownloadCacheDeps, container: string, { file }: InstallStep): Promise<string> {
  const read = await runDownloadCommand(parts, container, quoteWords(["cat", `${PROJECT_FOLDER}/${file}`]), {
    limit: LOCK_BYTES,
  });
  return read.exitCode === 0 && read.truncatedBytes === 0 ? read.stdout : "";
}

async function fetchAll(
  parts: DownloadCacheDeps,
  ecosystem: "npm" | "pip",
  packages: readonly string[],
  key: string,
): Promise<boolean> {
  parts.emit({ type: "step", step: "fetching", subject: String(packages.length) });
  const fetcher = await parts.openFetcher();
  if (fetcher === null) return false;
  const fresh = parts.store.create(key);
  try {
    const fetched = await runDownloadCommand(parts, fetcher.id, FETCH_COMMANDS[ecosystem], {
      stdin: `${packages.join("\n")}\n`,
    });
    if (fetched.exitCode !== 0) return false;
    const packed = await runDownloadCommand(
      parts,
      fetcher.id,
      `tar -cf - -C ${FETCHED_FOLDER} ${ecosystem}`,
      {
        onBytes: (bytes) => fresh.write(bytes),
      },
    );
    if (packed.exitCode !== 0) return false;
    fresh.keep();
    return true;
  } finally {
    fresh.drop();
    await fetcher.close();
  }
}

const PIP = `pip download --quiet --retries 0 --timeout 15 --no-deps --only-binary=:all: --dest ${FETCHED_FOLDER}/pip --`;

/**
 * Python packages without a wheel would have to be built, by code of their own: they are left to the task. Nobody waits
 * for an index that does not answer: no second tries, and what was not found at once is looked for a minute at most.
 */
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

async function unpack(
  parts: DownloadCacheDeps,
  container: string,
  ecosystem: "npm" | "pip",
  key: string,
): Promise<boolean> {
  const archive = `${FETCHED_FOLDER}/${ecosystem}.tar`;
  const begun = await runDownloadCommand(parts, container, `mkdir -p ${FETCHED_FOLDER} && : > ${archive}`);
  if (begun.exitCode !== 0) return false;
  for await (const piece of joinIntoPieces(parts.store.read(key))) {
    const sent = await runDownloadCommand(parts, container, `cat >> ${archive}`, { stdin: piece });
    if (sent.exitCode !== 0) return false;
  }
  return (
    (await runDownloadCommand(parts, container, `tar -xf ${archive} -C ${FETCHED_FOLDER} && rm ${archive}`))
      .exitCode === 0
  );
}

function runDownloadCommand(
  { sandboxes, timeoutMs, signal, env }: DownloadCacheDeps,
  container: string,
  command: string,
  options: {
    readonly stdin?: string | Uint8Array;
    readonly onBytes?: (bytes: Uint8Array) => void;
    readonly limit?: number;
  } = {},
): Promise<ExecResult> {
  const { stdin, onBytes, limit = OUTPUT_BYTES } = options;
  return sandboxes.exec(container, {
    command,
    cwd: "/workspace/tmp",
    env,
    timeoutMs,
    signal,
    outputLimitBytes: limit,
    ...(stdin !== undefined && { stdin }),
    ...(onBytes !== undefined && {
      onBytes: (stream: string, bytes: Uint8Array) => stream === "stdout" && onBytes(bytes),
    }),
  });
}
