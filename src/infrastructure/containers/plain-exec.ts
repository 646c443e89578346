import type { ExecResult } from "../../application/ports/containers.ts";
import { createStreamReader } from "./container-frames.ts";
import { createExec } from "./container-state.ts";
import { sandboxFailure } from "./docker-engine.ts";
import endTree from "./inside/end-tree.sh" with { type: "text" };
import {
  createExecOutput,
  lostResult,
  readEnding,
  readProcesses,
  type SupervisedRequest,
  type Supervisor,
  type SupervisorDeps,
} from "./supervisor.ts";

/**
 * For an image without Perl: one exec of the engine per command. Everything below `docker-init -s`, a sub-reaper, is
 * the command's tree. It ends when the engine says so, which waits two seconds for a background process that holds the
 * streams open.
 */
export function openPlainExec({ engine, container, limits, now, signal }: SupervisorDeps): Supervisor {
  const state = { open: true, next: 1 };
  const prefix = Math.round(now() * 1000).toString(36);
  const exec = async (argv: readonly string[], options: Partial<SupervisedRequest>): Promise<ExecResult> => {
    const started = now();
    const output = createExecOutput({ outputLimitBytes: 4096, ...options });
    const env = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
    const stdin = options.stdin !== undefined;
    const created = await createExec(engine, container, { argv, env, stdin, signal });
    if (!created.ok) return lostResult(created, 0, { stdout: "", stderr: "" });
    const { promise: closed, resolve: onClose } = Promise.withResolvers<void>();
    const connection = await engine.attach(
      created.value.Id,
      { onBytes: createStreamReader((stream, bytes) => output.add(stream, bytes)), onClose: () => onClose() },
      signal,
    );
    if ("ok" in connection) return lostResult(connection, 0, { stdout: "", stderr: "" });
    if (options.stdin !== undefined) {
      connection.write(Buffer.from(options.stdin));
      connection.endWrites();
    }
    const exitCode = await untilEnded(created.value.Id, closed);
    await Promise.race([closed, pause(DRAIN_MS)]);
    connection.close();
    const texts = output.finish();
    const durationMs = Math.round(now() - started);
    if (exitCode === null) {
      const failure = sandboxFailure("disconnected", "the connection broke off before an exit code came");
      return { ...lostResult(failure, durationMs, texts), truncatedBytes: texts.truncatedBytes };
    }
    const kind = KINDS.get(exitCode) ?? 0;
    const ended = readEnding(
      { kind, status: exitCode << 8, errno: 0, oomKills: 0, refusedForks: 0, left: [] },
      { cwd: options.cwd ?? "", program: argv[0] ?? "", stderr: texts.stderr },
      limits,
    );
    return { ...ended, ...texts, durationMs };
  };
  /** Null when nobody can say. */
  const untilEnded = async (id: string, closed: Promise<void>): Promise<number | null> => {
    for (let last = false; ; ) {
      last = (await Promise.race([closed.then(() => true), pause(POLL_MS).then(() => false)])) || last;
      const seen = await engine.call<{ Running: boolean; ExitCode: number | null }>({
        method: "GET",
        path: `/exec/${id}/json`,
        signal,
      });
      if (!seen.ok) return null;
      if (!seen.value.Running) return seen.value.ExitCode;
      if (last) await pause(POLL_MS);
    }
  };
  return {
    async run(request) {
      const file = `/dev/shm/picoclaw-${prefix}-${state.next++}`;
      const done = new AbortController();
      const ending: { why?: "timed-out" | "aborted" } = {};
      const end = async (why: "timed-out" | "aborted") => {
        if (ending.why || done.signal.aborted) return;
        ending.why = why;
        await exec(["sh", "-c", endTree, "sh", file, "TERM"], {});
        await pause(request.graceMs ?? 1500, done.signal);
        if (done.signal.aborted) return;
        await exec(["sh", "-c", endTree, "sh", file, "KILL"], {});
        await pause(STUCK_MS, done.signal);
        if (!done.signal.aborted) request.onStuck();
      };
      const onAbort = () => void end("aborted");
      request.signal?.addEventListener("abort", onAbort, { once: true });
      const timer =
        request.timeoutMs < 2 ** 31 ? setTimeout(() => void end("timed-out"), request.timeoutMs) : undefined;
      const wrapped = [
        "sh",
        "-c",
        WRAPPER,
        "sh",
        file,
        request.cwd,
        request.roots.join(":"),
        ...request.argv,
      ];
      const result = await exec(wrapped, request);
      done.abort();
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", onAbort);
      return ending.why ? { ...result, outcome: ending.why } : result;
    },
    async list() {
      const { stdout } = await exec(["sh", "-c", LIST], { outputLimitBytes: 1024 ** 2 });
      return readProcesses(
        stdout
          .split("\n")
          .flatMap((line) =>
            line === "" ? [] : [line.split(" ")[0] ?? "", line.split(" ").slice(1).join(" ")],
          ),
      );
    },
    async end(pid) {
      const { exitCode } = await exec(["sh", "-c", `kill -9 ${Math.trunc(pid)}`], {});
      return exitCode === 0;
    },
    isOpen: () => state.open,
    close: () => {
      state.open = false;
    },
  };
}

const POLL_MS = 200;
const DRAIN_MS = 200;
const STUCK_MS = 10_000;
/** Exit codes of the wrapper's own, unlikely enough for a command's. */
const KINDS = new Map([
  [213, 1],
  [214, 2],
]);

const WRAPPER = `
echo $$ >"$1"
cd -P -- "$2" 2>/dev/null || exit 213
here=$PWD ok= rest=$3:
while [ -n "$rest" ]; do
  root=\${rest%%:*}; rest=\${rest#*:}
  case $here/ in "\${root%/}"/*) ok=1 ;; esac
done
[ -n "$ok" ] || exit 214
shift 3
exec /sbin/docker-init -s -- "$@"
`;

const LIST = `
for folder in /proc/[0-9]*; do
  pid=\${folder#/proc/}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] || [ "$(cat "$folder/cmdline" 2>/dev/null)" = "" ] && continue
  echo "$pid $(tr '\\0' ' ' <"$folder/cmdline" 2>/dev/null)"
done
`;

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
