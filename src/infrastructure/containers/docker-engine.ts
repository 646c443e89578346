import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxFacts, SandboxFailure } from "../../application/ports/containers.ts";
import { SANDBOX_FAILURES } from "../../domain/containers/preparation.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import {
  callEngine,
  type EngineAddress,
  type EngineCall,
  type EngineTls,
  openRaw,
  type RawConnection,
  type RawHandlers,
} from "../platform/connections.ts";

type FailureCode = SandboxFailure["code"];

const RETRYABLE_CODES: ReadonlySet<FailureCode> = new Set([
  "engine-unreachable",
  "engine-timeout",
  "no-resources",
  "disconnected",
]);

export function sandboxFailure(code: FailureCode, detail: string, cause?: unknown): SandboxFailure {
  return {
    ok: false,
    code,
    actor: SANDBOX_FAILURES[code],
    retryable: RETRYABLE_CODES.has(code),
    detail,
    ...(cause !== undefined && { cause }),
  };
}

export function failureFromStatus(status: number, message: string, path: string): SandboxFailure {
  if (status === 404 && /no such image|not found: manifest|pull access denied/i.test(message))
    return sandboxFailure("image-missing", message);
  if (status === 404 && /\/containers\/|\/exec\//.test(path))
    return sandboxFailure("container-missing", message);
  if (status === 409 && /is already in use/i.test(message)) return sandboxFailure("name-taken", message);
  if (status === 409 && /is not running|is paused/i.test(message))
    return sandboxFailure("container-stopped", message);
  if (status === 400) return sandboxFailure("bad-spec", message);
  if (/cannot allocate memory|no space left|resource temporarily unavailable/i.test(message))
    return sandboxFailure("no-resources", message);
  return sandboxFailure("engine-error", `${message} (HTTP ${status})`);
}

const FAILURE_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such socket",
  ECONNREFUSED: "connection refused",
  ConnectionRefused: "connection refused",
  FailedToOpenSocket: "no engine answers",
};

/** The error that the runtime threw while it tried to reach the engine. */
function failureFromThrown(error: unknown, host: string): SandboxFailure {
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  if (code === "EACCES" || code === "EPERM")
    return sandboxFailure("engine-forbidden", `${host}: permission denied (its group may use it)`, error);
  return sandboxFailure("engine-unreachable", `${host}: ${FAILURE_WORDS[code] ?? message}`, error);
}

/** Where an engine is, and how long it may take to answer: another thread opens it again with these. */
export interface EngineDeps {
  readonly address: EngineAddress;
  readonly host: string;
  readonly timeoutMs: number;
}

/** The Docker Engine API without a client library, which takes half a second and 40 MB to load. Paths without a version mean the newest. */
export interface Engine extends EngineDeps {
  /** One call with a JSON answer; an empty answer is null. */
  call<T>(
    method: EngineMethod,
    path: string,
    more?: EngineRequest,
  ): Promise<EngineAnswer<T> | SandboxFailure>;
  /** One call whose answer is streamed; the caller reads or cancels it. */
  stream(method: EngineMethod, path: string, more?: EngineRequest): Promise<EngineStream | SandboxFailure>;
  /** Starts an exec and turns the connection into its streams. */
  attach(execId: string, handlers: RawHandlers, signal: AbortSignal): Promise<RawConnection | SandboxFailure>;
}

type EngineMethod = EngineCall["method"];

export interface EngineRequest extends Pick<EngineCall, "contentType" | "headers"> {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** An object is sent as JSON. */
  readonly body?: object | Uint8Array | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
  /** Default: the configured one. `Infinity` means no timeout. */
  readonly timeoutMs?: number;
}

export interface EngineAnswer<T> {
  readonly ok: true;
  readonly status: number;
  readonly value: T;
  readonly headers: Headers;
}

export interface EngineStream {
  readonly ok: true;
  readonly body: ReadableStream<Uint8Array>;
}

/** `command_executor.docker` of the configuration, as far as it says where the engine is. */
interface EngineSettings {
  readonly host: string;
  /** Seconds. */
  readonly api_timeout: number;
}

/** The configured engine, with Docker's own variables for TLS. Does not connect yet. */
export function openEngine(
  { host, api_timeout: seconds }: EngineSettings,
  env: Readonly<Record<string, string | undefined>>,
): Engine | SandboxFailure {
  const certificates = env.DOCKER_TLS_VERIFY
    ? (env.DOCKER_CERT_PATH ?? join(env.HOME ?? "/", ".docker"))
    : undefined;
  const address = parseEngineAddress(host, certificates);
  if (!address) return sandboxFailure("bad-host", `${host} is neither unix:///… nor tcp://host:port`);
  return createEngine({ address, host, timeoutMs: seconds * 1000 });
}

export function createEngine({ address, host, timeoutMs }: EngineDeps): Engine {
  const send = async (
    method: EngineMethod,
    path: string,
    request: EngineRequest,
  ): Promise<Response | SandboxFailure> => {
    const patience = request.timeoutMs ?? timeoutMs;
    const timer = Number.isFinite(patience) ? AbortSignal.timeout(patience) : undefined;
    const signals = [request.signal, timer].filter((signal) => signal !== undefined);
    if (request.signal?.aborted) return sandboxFailure("aborted", "aborted");
    try {
      const response = await callEngine(address, {
        method,
        path: path + queryOf(request.query),
        signal: AbortSignal.any(signals),
        body: request.body && bodyOf(request.body),
        contentType: request.contentType,
        headers: request.headers,
      });
      if (response.status < 400) return response;
      return failureFromStatus(response.status, await engineMessage(response), path);
    } catch (error) {
      if (request.signal?.aborted) return sandboxFailure("aborted", "aborted", error);
      if (timer?.aborted)
        return sandboxFailure("engine-timeout", `${host}: no answer in ${patience / 1000} s`, error);
      return explainUnreachable(address, host, error);
    }
  };
  return {
    address,
    host,
    timeoutMs,
    async call<T>(method: EngineMethod, path: string, request: EngineRequest = {}) {
      const response = await send(method, path, request);
      if (!(response instanceof Response)) return response;
      const { status, headers } = response;
      try {
        const text = await response.text();
        const value = (text === "" || method === "HEAD" ? null : JSON.parse(text)) as T;
        return { ok: true as const, status, value, headers };
      } catch (error) {
        if (request.signal?.aborted) return sandboxFailure("aborted", "aborted", error);
        return sandboxFailure("disconnected", `${host}: the answer broke off`, error);
      }
    },
    async stream(method, path, request) {
      const response = await send(method, path, { timeoutMs: Number.POSITIVE_INFINITY, ...request });
      if (!(response instanceof Response)) return response;
      return { ok: true, body: response.body ?? new ReadableStream({ start: (it) => it.close() }) };
    },
    async attach(execId, handlers, signal) {
      if (signal.aborted) return sandboxFailure("aborted", "aborted");
      try {
        return await upgradeConnection(
          (raw) => openRaw(address, raw),
          { path: `/exec/${execId}/start`, body: { Detach: false, Tty: false } },
          handlers,
          AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        );
      } catch (error) {
        if (signal.aborted) return sandboxFailure("aborted", "aborted", error);
        return explainUnreachable(address, host, error);
      }
    },
  };
}

function explainUnreachable(address: EngineAddress, host: string, error: unknown): SandboxFailure {
  if (address.kind === "unix") {
    try {
      accessSync(address.path, constants.R_OK | constants.W_OK);
    } catch (reason) {
      return failureFromThrown(reason, host);
    }
  }
  return failureFromThrown(error, host);
}

function queryOf(query: EngineRequest["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

function bodyOf(body: NonNullable<EngineRequest["body"]>): string | Uint8Array | ReadableStream<Uint8Array> {
  return body instanceof Uint8Array || body instanceof ReadableStream ? body : JSON.stringify(body);
}

async function engineMessage(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  return attemptOr(text.slice(0, 500), () => (JSON.parse(text) as { message?: string }).message ?? text);
}

const END_OF_HEAD = Buffer.from("\r\n\r\n");

/** Turns an HTTP connection into an exec's streams (101, from older engines 200). Closing it later does not end the process. */
function upgradeConnection(
  open: (handlers: RawHandlers) => Promise<RawConnection>,
  { path, body }: { readonly path: string; readonly body: object },
  handlers: RawHandlers,
  signal: AbortSignal,
): Promise<RawConnection | SandboxFailure> {
  const { promise, resolve, reject } = Promise.withResolvers<RawConnection | SandboxFailure>();
  const state = { head: Buffer.alloc(0), status: 0, upgraded: false };
  const own: { connection?: RawConnection } = {};
  const give = (bytes: Uint8Array) => {
    if (state.upgraded) return handlers.onBytes(bytes);
    state.head = Buffer.concat([state.head, bytes]);
    const end = state.head.indexOf(END_OF_HEAD);
    if (end < 0) return;
    state.status = Number(/^HTTP\/1\.\d (\d{3})/.exec(state.head.toString("latin1"))?.[1] ?? 0);
    if (state.status !== 101 && state.status !== 200) {
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(state.head.toString("latin1"))?.[1] ?? 0);
      if (state.head.length >= end + END_OF_HEAD.length + length) refuse();
      return;
    }
    state.upgraded = true;
    signal.removeEventListener("abort", onAbort);
    if (own.connection) resolve(own.connection);
    const rest = state.head.subarray(end + END_OF_HEAD.length);
    if (rest.length > 0) handlers.onBytes(rest);
  };
  const refuse = () => {
    signal.removeEventListener("abort", onAbort);
    own.connection?.close();
    const text = state.head.toString();
    const message = text.slice(text.indexOf("\r\n\r\n") + 4).replace(/^.*"message":"([^"]*)".*$/s, "$1");
    resolve(failureFromStatus(state.status, message.trim(), path));
  };
  const onAbort = () => {
    own.connection?.close();
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  open({
    onBytes: give,
    onClose(error) {
      if (state.upgraded) return handlers.onClose(error);
      if (state.status > 0) return refuse();
      signal.removeEventListener("abort", onAbort);
      resolve(sandboxFailure("disconnected", "the engine hung up", error));
    },
  }).then((connection) => {
    if (signal.aborted) return connection.close();
    own.connection = connection;
    const payload = Buffer.from(JSON.stringify(body));
    connection.write(
      Buffer.concat([
        Buffer.from(
          `POST ${path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${payload.length}\r\n\r\n`,
        ),
        payload,
      ]),
    );
  }, reject);
  return promise;
}

/** `unix:///path`, `tcp://host:port`, `https://host:port`; else undefined. With certificates (DOCKER_CERT_PATH) tcp speaks TLS. */
export function parseEngineAddress(host: string, certificates?: string): EngineAddress | undefined {
  if (host.startsWith("unix://")) {
    const path = host.slice("unix://".length);
    return path.startsWith("/") ? { kind: "unix", path } : undefined;
  }
  if (!/^(?:tcp|https?):\/\//.test(host)) return undefined;
  const text = host.replace(/^tcp:/, "http:");
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const secure = url.protocol === "https:" || certificates !== undefined;
  const port = Number(url.port) || (secure ? 2376 : 2375);
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    kind: "tcp",
    host: name,
    port,
    ...(secure && { tls: certificates === undefined ? {} : readCertificates(certificates) }),
  };
}

function readCertificates(folder: string): EngineTls {
  const read = (name: string) => attemptOr(undefined, () => readFileSync(join(folder, name), "utf8"));
  const [ca, cert, key] = [read("ca.pem"), read("cert.pem"), read("key.pem")];
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

interface EngineInfo {
  readonly ServerVersion: string;
  readonly CgroupVersion?: string;
  readonly Driver: string;
  readonly DriverStatus?: readonly (readonly [string, string])[];
  readonly SecurityOptions?: readonly string[];
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly PidsLimit?: boolean;
}

/** The identity of the engine, and what it claims to enforce. */
export async function readEngineFacts(
  engine: Engine,
  signal: AbortSignal | undefined,
): Promise<SandboxFacts | SandboxFailure> {
  const [info, version] = await Promise.all([
    engine.call<EngineInfo>("GET", "/info", { signal }),
    engine.call<{ ApiVersion: string }>("GET", "/version", { signal }),
  ]);
  if (!info.ok) return info;
  if (!version.ok) return version;
  const it = info.value;
  const security = it.SecurityOptions ?? [];
  const lacks = {
    memory: it.MemoryLimit === false,
    swap: it.SwapLimit === false,
    cpu: it.CpuCfsQuota === false,
    pids: it.PidsLimit === false,
  };
  return {
    ok: true,
    engineVersion: it.ServerVersion,
    apiVersion: version.value.ApiVersion,
    host: engine.host,
    cgroup: it.CgroupVersion === "2" ? 2 : 1,
    storageDriver: it.Driver,
    backingFilesystem: it.DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1] ?? "unknown",
    disk: "watchdog",
    rootless: security.some((option) => option.includes("name=rootless")),
    seccomp: security.some((option) => option.includes("name=seccomp")),
    cpus: it.NCPU,
    memoryBytes: it.MemTotal,
    missing: (Object.keys(lacks) as (keyof typeof lacks)[]).filter((name) => lacks[name]),
  };
}
