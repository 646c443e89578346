/**
 * The network proxy as a program of its own, for a sidecar container:
 *
 *   bun --no-env-file dist/wiring/proxy.js '{"listen":{"host":"0.0.0.0","port":3128},"allowed":["*.example.org"],"denied":[]}'
 *
 * (or `src/wiring/proxy.ts`; without an argument the same JSON is read from PICOCLAW_PROXY). `listen` may be
 * `{"path":"/run/proxy.sock"}`. Entries are those of src/domain/policy/network.ts: `[]` allows nothing, `["*"]` every
 * public host; an exact `host:port` opens private addresses as well. Clients need HTTP_PROXY, HTTPS_PROXY and ALL_PROXY
 * in both cases and NODE_USE_ENV_PROXY=1: `proxyEnvironment` in src/infrastructure/sandbox/job-limits.ts.
 *
 * With `"idle_hours": N` it ends by itself, with status 0, after that long without use: the program that started it may be
 * gone for good.
 *
 * Prints one line of JSON when it listens ({"event":"ready","port":3128}) and one for each request that it refuses
 * ({"event":"refused","host":…,"port":…,"reason":…}). Ends with status 2 when the JSON is wrong, with 0 at TERM.
 */
import { chmodSync, rmSync } from "node:fs";
import { isNetworkEntry } from "../../domain/policy/network.ts";
import { type ListenAt, type Refusal, startProxy } from "./proxy.ts";

interface Settings {
  readonly listen: ListenAt;
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  readonly idle_hours?: number;
}

const HOUR_MS = 3_600_000;

const say = (line: Readonly<Record<string, unknown>>) =>
  void process.stdout.write(`${JSON.stringify(line)}\n`);

export function endProxyProgram(message: string): never {
  process.stderr.write(`picoclaw proxy: ${message}\n`);
  process.exit(2);
}

function settingsOf(text: string): Settings {
  let given: Partial<Settings>;
  try {
    given = JSON.parse(text) as Partial<Settings>;
  } catch {
    return endProxyProgram("its settings are not JSON");
  }
  const { listen = { host: "0.0.0.0", port: 3128 }, allowed, denied = [], idle_hours } = given;
  for (const [name, list] of Object.entries({ allowed, denied })) {
    if (!Array.isArray(list)) return endProxyProgram(`"${name}" is not a list`);
    const wrong = list.find((entry) => typeof entry !== "string" || !isNetworkEntry(entry));
    if (wrong !== undefined)
      return endProxyProgram(`"${name}" holds what is no host: ${JSON.stringify(wrong)}`);
  }
  if (idle_hours !== undefined && !(idle_hours > 0))
    return endProxyProgram('"idle_hours" is not a number above 0');
  return { listen, allowed: allowed ?? [], denied, ...(idle_hours !== undefined && { idle_hours }) };
}

/** Runs until TERM, or until it has been unused for `idle_hours`. */
export async function runProxyProgram(text: string): Promise<void> {
  const settings = settingsOf(text);
  const onRefused = (refusal: Refusal) => say({ event: "refused", ...refusal });
  const path = "path" in settings.listen ? settings.listen.path : undefined;
  // A killed proxy left it. A user who may see the folder may use the proxy.
  if (path !== undefined) rmSync(path, { force: true });
  const proxy = await startProxy({ rules: settings, onRefused }, settings.listen);
  if (path !== undefined) chmodSync(path, 0o666);
  const end = () => void proxy.stop().then(() => process.exit(0));
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
  const { idle_hours: hours } = settings;
  if (hours !== undefined)
    setInterval(() => proxy.idleMs() > hours * HOUR_MS && end(), Math.min(hours, 1) * HOUR_MS);
  say({ event: "ready", port: proxy.port });
}
