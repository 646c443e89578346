import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import type { BuildImageDeps } from "../../application/containers/ensure-image.ts";
import {
  type ContextFile,
  EngineUnavailable,
  type ImageOutcome,
  type ImageProgress,
  type Images,
  type Recipes,
  type SandboxFailure,
} from "../../application/ports/containers.ts";
import { jobEnvironment } from "../../domain/policy/job-environment.ts";
import { hashHex } from "../platform/hash.ts";
import { findInstallation } from "../platform/installation.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { inspectImage } from "./container-state.ts";
import type { Engine, EngineStream } from "./docker-engine.ts";
import { createNpmRegistry } from "./download-store.ts";
import { type ArchiveEntry, archiveStream, streamOf } from "./tar-archive.ts";

export function createDockerImages(engine: Engine): Images {
  return {
    async inspect(name, signal) {
      const answer = await inspectImage(engine, name, signal);
      if (answer.ok) return { id: answer.value.Id, labels: answer.value.Config?.Labels ?? {} };
      if (answer.code === "image-missing") return null;
      signal?.throwIfAborted();
      throw new EngineUnavailable(answer);
    },
    async pull(name, progress) {
      const { image, tag } = splitTag(name);
      const answer = await engine.stream("POST", "/images/create", {
        query: { fromImage: image, tag },
        signal: progress.signal,
      });
      return imageOutcome(answer, progress);
    },
    async build(request) {
      const answer = await engine.stream("POST", "/build", {
        query: {
          t: request.name,
          rm: true,
          forcerm: true,
          buildargs: JSON.stringify(request.args),
          labels: JSON.stringify(request.labels),
        },
        body: archiveStream(request.files.map(toArchiveEntry)),
        contentType: "application/x-tar",
        signal: request.signal,
      });
      return imageOutcome(answer, request);
    },
    async tag(name, further) {
      const { image, tag } = splitTag(further);
      const answer = await engine.call("POST", `/images/${encodeURIComponent(name)}/tag`, {
        query: { repo: image, tag },
      });
      if (!answer.ok) throw new EngineUnavailable(answer);
    },
    async importArchive(name, archive, { labels, ...progress }) {
      const { image, tag } = splitTag(name);
      const [[key, value] = ["", ""]] = Object.entries(labels);
      const answer = await engine.stream("POST", "/images/create", {
        query: { fromSrc: "-", repo: image, tag, changes: `LABEL ${key}=${value}` },
        body: streamOf(archive),
        contentType: "application/x-tar",
        signal: progress.signal,
      });
      return imageOutcome(answer, progress);
    },
  };
}

function splitTag(name: string): { image: string; tag: string } {
  const colon = name.lastIndexOf(":");
  if (name.includes("@") || colon <= name.lastIndexOf("/"))
    return { image: name, tag: name.includes("@") ? "" : "latest" };
  return { image: name.slice(0, colon), tag: name.slice(colon + 1) };
}

function toArchiveEntry({ path, bytes, executable }: ContextFile): ArchiveEntry {
  const mode = executable ? 0o755 : 0o644;
  return { kind: "file", path, mode, uid: 0, gid: 0, size: bytes.length, content: bytes };
}

/** Builds and pulls answer with lines of JSON; the failure, if there is one, is among them. */
async function imageOutcome(
  answer: EngineStream | SandboxFailure,
  { signal, onLine }: ImageProgress,
): Promise<ImageOutcome> {
  if (!answer.ok) return imageFailure(answer);
  let trouble: string | null = null;
  try {
    for await (const { stream, status, error } of jsonLines(answer.body)) {
      if (error !== undefined) trouble = error;
      const text = (stream ?? status ?? "").trimEnd();
      if (text !== "") onLine?.(text);
    }
  } catch (error) {
    if (signal?.aborted) return { ok: false, reason: "aborted", message: "aborted" };
    return { ok: false, reason: "failed", message: error instanceof Error ? error.message : String(error) };
  }
  return trouble === null ? { ok: true } : { ok: false, reason: reasonOf(trouble), message: trouble };
}

function imageFailure(failure: SandboxFailure): ImageOutcome {
  const { code, detail } = failure;
  if (code === "aborted") return { ok: false, reason: "aborted", message: detail };
  if (code === "image-missing") return { ok: false, reason: "not-found", message: detail };
  if (code === "engine-error") return { ok: false, reason: reasonOf(detail), message: detail };
  throw new EngineUnavailable(failure);
}

function reasonOf(text: string): "not-found" | "unreachable" | "failed" {
  if (/denied|not found|manifest unknown|does not exist/i.test(text)) return "not-found";
  return /no such host|dial tcp|timeout|TLS|connection refused/i.test(text) ? "unreachable" : "failed";
}

interface ProgressLine {
  readonly stream?: string;
  readonly status?: string;
  readonly error?: string;
}

async function* jsonLines(body: ReadableStream<Uint8Array>): AsyncGenerator<ProgressLine> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    held += decoder.decode(chunk, { stream: true });
    const lines = held.split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as ProgressLine;
  }
  if (held.trim() !== "") yield JSON.parse(held) as ProgressLine;
}

export interface RecipeFolders {
  /** `images/` of the installation. */
  readonly images: string;
  /** Certificates that an administrator added to this machine. */
  readonly certificates: string;
  /** A project's Dockerfile is named from here and must be inside. */
  readonly workspace: string;
}

const CERTIFICATES = "/usr/local/share/ca-certificates";
const NPM_SETTINGS = ["npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig"];

/** The inputs of this machine and of a workspace from which images are built. */
export function openImageInputs(place: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspace: string;
  /** `command_executor.install.npm_registry`. */
  readonly npmRegistry: string | null;
}): Omit<BuildImageDeps, "images"> {
  const { env, workspace, npmRegistry: configured } = place;
  return {
    recipes: createRecipes({
      images: join(findInstallation().folder, "images"),
      certificates: CERTIFICATES,
      workspace,
    }),
    sha256: (bytes) => hashHex("sha256", bytes),
    npmRegistry: createNpmRegistry({
      processes: createProcessRunner(),
      env: jobEnvironment({ host: env, pass: NPM_SETTINGS, view: {} }),
      configured,
    }),
  };
}

const LARGEST_CONTEXT = 64 * 1024 ** 2;

export function createRecipes({ images, certificates, workspace }: RecipeFolders): Recipes {
  return {
    filesOf(folder) {
      const path = join(images, folder);
      return existsSync(join(path, "Dockerfile")) ? filesBelow(path, "").files : null;
    },
    certificates: () =>
      existsSync(certificates)
        ? readdirSync(certificates)
            .filter((name) => name.endsWith(".crt") && statSync(join(certificates, name)).isFile())
            .map((name) => fileAt(join(certificates, name), name))
        : [],
    project(dockerfile) {
      const path = isAbsolute(dockerfile) ? dockerfile : join(workspace, dockerfile);
      if (!existsSync(path)) return `no such file: ${dockerfile}`;
      const real = realpathSync(path);
      if (relative(realpathSync(workspace), real).startsWith(".."))
        return `outside the workspace: ${dockerfile}`;
      const { files, bytes } = filesBelow(dirname(real), "");
      if (bytes > LARGEST_CONTEXT)
        return `the folder of ${dockerfile} is larger than ${LARGEST_CONTEXT / 1024 ** 2} MiB; give the Dockerfile a folder of its own`;
      const own = relative(dirname(real), real);
      if (own === "Dockerfile") return files;
      const others = files.filter((file) => file.path !== "Dockerfile");
      return [...others, fileAt(real, "Dockerfile")];
    },
  };
}

function filesBelow(folder: string, path: string): { files: ContextFile[]; bytes: number } {
  const files: ContextFile[] = [];
  let bytes = 0;
  for (const name of readdirSync(folder).sort()) {
    if (name === ".git" || name === "node_modules" || bytes > LARGEST_CONTEXT) continue;
    const absolute = join(folder, name);
    const below = path === "" ? name : `${path}/${name}`;
    const stats = lstatSync(absolute);
    if (stats.isDirectory()) {
      const inner = filesBelow(absolute, below);
      files.push(...inner.files);
      bytes += inner.bytes;
    } else if (stats.isFile()) {
      bytes += stats.size;
      if (bytes <= LARGEST_CONTEXT) files.push(fileAt(absolute, below));
    }
  }
  return { files, bytes };
}

function fileAt(absolute: string, path: string): ContextFile {
  return { path, bytes: readFileSync(absolute), executable: (statSync(absolute).mode & 0o111) !== 0 };
}
