/** Entries that appear in the host's folders while a job runs stay out of its reach: sockets, mounts, keys of the session. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM, shell } from "../e2e/cli-kit.ts";
import { CONFINE_OFF, CONNECT, createTarget, type Target } from "../hostile/hostile-kit.ts";
import { requirePart } from "../require.ts";

const GREETING = "the host greets you";
const GREET = [
  process.execPath,
  "--no-env-file",
  join(import.meta.dir, "../hostile/greet-child.ts"),
  GREETING,
];
const isRoot = process.getuid?.() === 0;

async function listen(command: readonly string[], cwd: string): Promise<Bun.Subprocess> {
  const server = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  for await (const said of server.stdout.pipeThrough(new TextDecoderStream()))
    if (said.includes("ready")) break;
  return server;
}

describe.if(isRoot && process.platform === "linux" && requirePart("bwrap"))("outside of homes", () => {
  let target: Target;
  /** A folder that all users may read, outside every home. */
  let shared: string;
  const servers: Bun.Subprocess[] = [];

  beforeAll(async () => {
    target = createTarget();
    shared = mkdtempSync("/srv/picoclaw-edge-");
    chmodSync(shared, 0o755);
    servers.push(await listen([...GREET, "relative.sock", "0"], shared));
    servers.push(await listen([...GREET, `${shared}/first.sock`, "0"], shared));
    spawnSync("mv", ["first.sock", "renamed.sock"], { cwd: shared });
    servers.push(await listen(["unshare", "-n", ...GREET, `${shared}/elsewhere.sock`], shared));
  });
  afterAll(() => {
    for (const server of servers) server.kill("SIGKILL");
    rmSync(shared, { recursive: true, force: true });
    target.remove();
  });

  test.each([
    ["a job", []],
    ["a preview", ["--preview"]],
  ] as const)("%s reaches no socket by its path: relative, renamed, of another network", (_, args) => {
    const names = ["relative.sock", "renamed.sock", "elsewhere.sock"];
    const lines = names.map((name) => `${CONNECT} ${shared}/${name}`);
    for (const { said } of target.attempt(lines, { args })) expect(said).toContain("unreachable");
    const open = target.attempt(lines, { env: CONFINE_OFF });
    expect(open.map(({ said }) => said.trim())).toEqual([GREETING, GREETING, GREETING]);
  });

  test("a socket that is made while the job runs is not reached either", () => {
    const late = `${shared}/late.sock`;
    servers.push(
      Bun.spawn(["sh", "-c", 'sleep 1.5; exec "$@"', "sh", ...GREET, late, "0"], { stdout: "ignore" }),
    );
    const line = `for i in $(seq 70); do [ -S ${late} ] && break; sleep 0.05; done; sleep 0.3; ${CONNECT} ${late}`;
    expect(target.try(line).said).toContain("unreachable");
    expect(target.try(`${CONNECT} ${late}`, { env: CONFINE_OFF }).said.trim()).toBe(GREETING);
  });

  test("the storage of another workspace that is made while the job runs is not found in", () => {
    const home = mkdtempSync("/dev/shm/picoclaw-home-");
    const [other, patch] = [join(shared, "other"), join(shared, "patch.json")];
    mkdirSync(other);
    writeFileSync(patch, JSON.stringify([shell("echo s3cret-of-another > made")]));
    try {
      const env = { ...process.env, PICOCLAW_HOME: home };
      const first = ["sh", "-c", 'sleep 1.5; exec "$@"', "sh", PROGRAM, "apply", "--workspace", other, patch];
      const late = Bun.spawn(first, { env, stdout: "ignore", stderr: "ignore" });
      servers.push(late);
      const place = `${shared}/.other-*.picoclaw`;
      const line = [
        `for i in $(seq 200); do ls -d ${place} && break; sleep 0.05; done; sleep 2`,
        `find ${place} -mindepth 2; ls -R ${place}; chmod -R 700 ${place}; grep -r s3cret ${place}; true`,
      ].join("\n");
      const { said } = target.try(line, { env: { PICOCLAW_HOME: home } });
      expect(readFileSync(join(other, "made"), "utf8")).toBe("s3cret-of-another\n");
      expect(said).toContain(".picoclaw/s");
      expect([said.includes("jobs"), said.includes("s3cret-of")]).toEqual([false, false]);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  test("a mount that appears while the job runs is neither seen nor written to, where / is shared", () => {
    const program = join(shared, "picoclaw");
    const later = `(sleep 1.5; mount -t tmpfs none ${shared}/m; mkdir /picoclaw-edge; mount -t tmpfs none /picoclaw-edge; sleep 2; ls -A ${shared}/m /picoclaw-edge > ${shared}/found; umount ${shared}/m /picoclaw-edge; rmdir /picoclaw-edge) > /dev/null 2>&1 &`;
    mkdirSync(join(shared, "m"));
    writeFileSync(
      program,
      `#!/bin/sh\nexec unshare -m --propagation shared sh -c '${later} ${PROGRAM} "$@"; r=$?; wait; exit $r' sh "$@"\n`,
      { mode: 0o755 },
    );
    const line = `for i in $(seq 30); do for d in ${shared}/m /picoclaw-edge; do echo bad > $d/bad && echo wrote; done; sleep 0.1; done; true`;
    const said = target.try(line, { program }).said;
    expect(said).not.toContain("wrote");
    const found = readFileSync(join(shared, "found"), "utf8");
    expect([found.includes("/picoclaw-edge:"), found.includes("bad")]).toEqual([true, false]);
  });

  test("a file system that no layer can be laid over does not keep a job from starting, nor the rest from being screened", () => {
    const program = join(shared, "picoclaw-bare");
    const bare = mkdtempSync("/srv/picoclaw-bare-");
    writeFileSync(
      program,
      `#!/bin/sh\nexec unshare -m --propagation private sh -c 'mount -t proc proc ${bare} && exec ${PROGRAM} "$@"' sh "$@"\n`,
      { mode: 0o755 },
    );
    const lines = [`ls ${bare}/self/status && echo made > made`, `${CONNECT} ${shared}/relative.sock`];
    const [seen, reached] = target.attempt(lines, { program });
    rmSync(bare, { recursive: true, force: true });
    expect([seen?.success, seen?.said.includes("status")]).toEqual([true, true]);
    expect(reached?.said).toContain("unreachable");
  });
});
