/**
 * A private Postgres in a temporary folder, on a socket of its own, for as long as a test file runs. Postgres refuses
 * to run as root, so there it runs as the user that its package made.
 */
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PostgresServer {
  /** A database of its own. */
  newDatabase(): string;
  /** Ends the server as a crash would, or as a restart by its keeper does, and brings it back. */
  crash(mode?: "immediate" | "fast"): void;
  comeBack(): void;
  stop(): void;
}

/** `more`: further options of the server. `under`: where its folder is made. */
export function startPostgres({
  more = "",
  under = tmpdir(),
}: {
  readonly more?: string;
  readonly under?: string;
} = {}): PostgresServer {
  const folder = mkdtempSync(join(under, "picoclaw-pg-"));
  const data = join(folder, "data");
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const ids = run("id", ["-u", "postgres"]).trim();
    const group = run("id", ["-g", "postgres"]).trim();
    chownSync(folder, Number(ids), Number(group));
  }
  const call = (program: string, args: readonly string[]) => {
    const argv = [join(programs(), program), ...args];
    return isRoot
      ? run("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", ...argv], folder)
      : run(argv[0]!, argv.slice(1), folder);
  };
  call("initdb", [
    "-D",
    data,
    "-U",
    "picoclaw",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--no-sync",
  ]);
  const options = `-c listen_addresses= -c unix_socket_directories=${folder} -c fsync=off -c shared_buffers=16MB -c max_connections=60 ${more}`;
  const start = () =>
    call("pg_ctl", ["-D", data, "-o", options, "-l", join(folder, "log"), "-w", "-t", "30", "start"]);
  start();
  let made = 0;
  return {
    newDatabase() {
      made += 1;
      const name = `test_${made}`;
      call("createdb", ["-h", folder, "-U", "picoclaw", name]);
      return `postgres://picoclaw@localhost/${name}?host=${encodeURIComponent(folder)}`;
    },
    crash: (mode = "immediate") => void call("pg_ctl", ["-D", data, "-m", mode, "-w", "stop"]),
    comeBack: () => void start(),
    stop() {
      try {
        call("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function programs(): string {
  const versions = "/usr/lib/postgresql";
  if (!existsSync(versions)) return "";
  const newest = readdirSync(versions).sort((a, b) => Number(b) - Number(a))[0]!;
  return join(versions, newest, "bin");
}

function run(program: string, args: readonly string[], cwd?: string): string {
  const done = spawnSync(program, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 280_000,
    env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" },
    ...(cwd !== undefined && { cwd }),
  });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${done.stderr || done.error}`);
  return done.stdout;
}
