/** Task environments on the real engine, with a home of their own, and repositories to prepare them with. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ConfigOverrides } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createEnvironments, type WiredEnvironments } from "../../../src/wiring/environments.ts";
import { createServices } from "../../../src/wiring/services.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { DOCKER_HOST, docker, installationOf, removeInstallation } from "./real-engine.ts";

export const PYTHON = "coding-agent-executor-python:latest";
export const STAND_IN = "coding-agent-executor-miniforge-stand-in:latest";

type ExecutorOverrides = NonNullable<ConfigOverrides["command_executor"]>;

export interface EnvironmentKit {
  readonly home: string;
  readonly folder: string;
  open(overrides?: ConfigOverrides, env?: Readonly<Record<string, string>>): Promise<WiredEnvironments>;
  /** A repository with these files, committed. */
  repository(files: Readonly<Record<string, string>>, name?: string): string;
  git(path: string, ...args: readonly string[]): string;
  /** This installation's remains at the engine: containers and volumes of tasks. */
  left(): readonly string[];
  /** Removes what a failed test left, so that the next one is not blamed for it. */
  clear(): void;
  end(): Promise<void>;
}

export function createEnvironmentKit(): EnvironmentKit {
  const folder = makeTestFolder("env");
  const home = join(folder, "home");
  const opened: WiredEnvironments[] = [];
  let count = 0;
  const git = (path: string, ...args: readonly string[]) => {
    const ran = spawnSync(
      "git",
      ["-C", path, "-c", "user.name=T", "-c", "user.email=t@example.org", ...args],
      {
        encoding: "utf8",
        env: { PATH: process.env.PATH ?? "", HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
      },
    );
    if (ran.status !== 0) throw new Error(`git ${args.join(" ")}: ${ran.stderr}`);
    return ran.stdout.trim();
  };
  return {
    home,
    folder,
    git,
    async open(overrides = {}, env = {}) {
      const variables = { PATH: process.env.PATH ?? "", PICOCLAW_LOCALE: "en", HOME: folder, ...env };
      const loaded = await loadConfig({
        env: variables,
        cwd: folder,
        home,
        flags: overrides,
      });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
      const environments = createEnvironments(createServices(variables, { cwd: folder }, loaded));
      if ("ok" in environments) throw new Error(environments.detail);
      opened.push(environments);
      return environments;
    },
    repository(files, name = `repository-${++count}`) {
      const path = join(folder, name);
      mkdirSync(path, { recursive: true });
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, file)), { recursive: true });
        writeFileSync(join(path, file), text);
      }
      git(path, "init", "-q", "-b", "main");
      git(path, "add", "-A");
      git(path, "commit", "-q", "-m", "first");
      return path;
    },
    left() {
      const label = `label=picoclaw.installation=${installationOf(home)}`;
      const containers = docker("ps", "-a", "--filter", label, "--format", "{{.Names}}").split("\n");
      const volumes = docker("volume", "ls", "-q", "--filter", label).split("\n");
      return [...containers, ...volumes].filter((name) => name !== "" && !name.startsWith("picoclaw-proxy"));
    },
    clear() {
      const names = this.left();
      if (names.length > 0) removeInstallation(home);
    },
    async end() {
      for (const environments of opened) await environments.close();
      removeInstallation(home);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Small images of limits for tests. */
export function executor(overrides: ExecutorOverrides = {}): ConfigOverrides {
  return {
    command_executor: {
      ...overrides,
      docker: {
        host: DOCKER_HOST,
        resources: { cpu_limit: 2, memory_limit: "1g", disk_limit: "2g" },
        ...overrides.docker,
      },
    },
  } as ConfigOverrides;
}

export interface GitServer {
  /** As environments reach it: `host.docker.internal:PORT`, for `allowed_hosts`. */
  readonly host: string;
  readonly url: (name: string) => string;
  /** The credentials that clients sent. */
  readonly seen: string[];
  close(): void;
}

/**
 * Git's own server program behind a password, as a forge has it. `stall` answers the request for the pack with
 * nothing at all, like a repository that never finishes.
 */
export async function serveGit(
  root: string,
  { password, stall = false }: { readonly password?: string; readonly stall?: boolean } = {},
): Promise<GitServer> {
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    const given = Buffer.from(
      (request.headers.authorization ?? "").replace(/^Basic /, ""),
      "base64",
    ).toString();
    if (given !== "") seen.push(given);
    if (password !== undefined && given.split(":")[1] !== password) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end("no");
      return;
    }
    const [path = "", query = ""] = (request.url ?? "").split("?");
    if (stall && path.endsWith("/git-upload-pack")) return;
    const backend = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env.PATH ?? "",
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method ?? "GET",
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        REMOTE_USER: "t",
      },
    });
    request.pipe(backend.stdin);
    const parts: Buffer[] = [];
    backend.stdout.on("data", (part: Buffer) => parts.push(part));
    backend.on("close", () => {
      const all = Buffer.concat(parts);
      const end = all.indexOf("\r\n\r\n");
      const headers = Object.fromEntries(
        all
          .toString("latin1", 0, end)
          .split("\r\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
      );
      const { Status: status = "200", ...rest } = headers;
      response.writeHead(Number(status.slice(0, 3)), rest).end(all.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const host = `host.docker.internal:${(server.address() as AddressInfo).port}`;
  return { host, seen, url: (name) => `http://${host}/${name}`, close: () => void server.close() };
}

/** A wheel of a package with one module, made on the spot. */
export function makeWheel(folder: string, name: string, version: string, module: string): string {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const file = `${name}-${version}-py3-none-any.whl`;
  const script = `
import sys, zipfile
name, version, module, path = sys.argv[1:]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr(f"{name}.py", module)
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;
  const made = spawnSync("python3", ["-c", script, name, version, module, join(folder, file)], {
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(made.stderr);
  return file;
}

export interface NpmServer {
  readonly host: string;
  readonly resolved: string;
  readonly integrity: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  close(): void;
}

/** A package index with one package, as npm expects it. */
export async function serveNpm(one: {
  readonly name: string;
  readonly version: string;
  readonly index: string;
}): Promise<NpmServer> {
  const { name, version, index } = one;
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-npm-"));
  mkdirSync(join(folder, "package"));
  writeFileSync(join(folder, "package/package.json"), JSON.stringify({ name, version, main: "index.js" }));
  writeFileSync(join(folder, "package/index.js"), index);
  spawnSync("tar", ["-czf", "package.tgz", "package"], { cwd: folder });
  const archive = readFileSync(join(folder, "package.tgz"));
  rmSync(folder, { recursive: true });
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const state = { resolved: "" };
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url?.endsWith(".tgz")) return void response.end(archive);
    const dist = { tarball: state.resolved, integrity };
    const versions = { [version]: { name, version, main: "index.js", dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const host = `host.docker.internal:${(server.address() as AddressInfo).port}`;
  state.resolved = `http://${host}/${name}/-/${name}-${version}.tgz`;
  return { host, asked, resolved: state.resolved, integrity, close: () => void server.close() };
}

/** An index of Python packages with one wheel. */
export async function servePip(folder: string, file: string) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url?.endsWith(".whl")) return void response.end(readFileSync(join(folder, file)));
    response.setHeader("content-type", "text/html");
    response.end(`<!DOCTYPE html><html><body><a href="/files/${file}">${file}</a></body></html>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const host = `host.docker.internal:${(server.address() as AddressInfo).port}`;
  return { host, asked, url: `http://${host}/simple`, close: () => void server.close() };
}
