import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { CONFINE_OFF, CONNECT, createTarget, type Target } from "./hostile-kit.ts";

const GREETING = "the host greets you";

let target: Target;
let temporary: string;
let port = 0;
let server: Bun.Subprocess<"ignore", "pipe", "inherit">;

describe.if(process.platform === "linux" && requirePart("bwrap"))("a socket of the host", () => {
  /** Where it listens, seen from the test. */
  let places: Record<string, string>;
  const name = `picoclaw-hostile-${process.pid}`;

  beforeAll(async () => {
    target = createTarget();
    temporary = mkdtempSync(join(tmpdir(), "tmux-"));
    mkdirSync(join(target.user, ".local/share"), { recursive: true });
    places = {
      "in the temporary folder (tmux)": join(temporary, "default"),
      "outside, in a readable folder": join(target.outside, "bus"),
      "in the home": join(target.user, ".local/share/agent"),
      "in the workspace": join(target.workspace, "server.sock"),
    };
    const argv = [process.execPath, "--no-env-file", join(import.meta.dir, "greet-child.ts"), GREETING];
    server = Bun.spawn([...argv, ...Object.values(places), `@${name}`, "0"], {
      stdin: "ignore",
      stdout: "pipe",
    });
    for await (const line of server.stdout.pipeThrough(new TextDecoderStream())) {
      port = Number(/ready (\d+)/.exec(line)?.[1]);
      break;
    }
  });
  afterAll(() => {
    server.kill();
    rmSync(temporary, { recursive: true });
    target.remove();
  });

  test("that has a path is not reached by a job, in any folder", () => {
    const lines = Object.values(places).map((place) => `${CONNECT} ${place}`);
    for (const { said } of target.attempt(lines)) {
      expect(said).toContain("unreachable");
      expect(said).not.toContain(GREETING);
    }
    const reached = target.attempt(lines.slice(0, 3), { env: CONFINE_OFF });
    expect(reached.map(({ said }) => said.trim())).toEqual([GREETING, GREETING, GREETING]);
  });

  test("in the live folder is not reached by a background process", async () => {
    const argv = [process.execPath, "--no-env-file", join(import.meta.dir, "greet-child.ts"), GREETING];
    const relative = Bun.spawn([...argv, "relative.sock", "0"], {
      cwd: target.workspace,
      stdin: "ignore",
      stdout: "pipe",
    });
    try {
      for await (const line of relative.stdout.pipeThrough(new TextDecoderStream()))
        if (line.includes("ready")) break;
      for (const socket of ["server.sock", "relative.sock"]) {
        const line = `${CONNECT} ${join(target.workspace, socket)}; echo tried; sleep 300`;
        expect(target.run(["ps", "start", "--name", "caller", line]).code).toBe(0);
        const log = () => target.run(["ps", "log", "caller"]).out;
        await until(() => log().includes("tried"));
        expect({ socket, said: log() }).toEqual({ socket, said: expect.stringContaining("unreachable") });
        expect(target.run(["ps", "stop", "caller"]).code).toBe(0);
      }
    } finally {
      relative.kill();
      target.run(["ps", "stop", "--all"]);
    }
  });

  test("of Docker, the system bus or the user's session is not there", () => {
    const { said } = target.try(
      "for s in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/user/$(id -u)/bus /run/systemd/private; do [ -e $s ] && echo found $s; done; true",
    );
    expect(said).toBe("");
  });

  test("without a path, and a port of 127.0.0.1, is reached only where the network is on", () => {
    const lines = [`${CONNECT} @${name}`, `${CONNECT} 127.0.0.1:${port}`];
    const off = target.attempt(lines, { args: ["--preview"] });
    expect(off.map(({ said }) => /unreachable/.test(said))).toEqual([true, true]);
    const on = target.attempt(lines, { args: ["--preview", "--allow-net"] });
    expect(on.map(({ said }) => said.trim())).toEqual([GREETING, GREETING]);
    expect(target.attempt(lines).map(({ said }) => said.trim())).toEqual([GREETING, GREETING]);
  });

  test("in a preview of a copy is out of reach too", () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "copy" };
    const [off] = target.attempt([`${CONNECT} 127.0.0.1:${port}`], { args: ["--preview"], env });
    expect(off?.said).toContain("unreachable");
  });

  test("of the SSH agent is passed on when the user says so", () => {
    const SSH_AUTH_SOCK = places["in the temporary folder (tmux)"] as string;
    const line = `${CONNECT} "\${SSH_AUTH_SOCK:-/none}"`;
    expect(target.try(line, { env: { SSH_AUTH_SOCK } }).said).toContain("unreachable");
    const env = { SSH_AUTH_SOCK, PICOCLAW_WORKER_ALLOW_SSH_AGENT: "true" };
    expect(target.try(line, { env }).said.trim()).toBe(GREETING);
  });
});
