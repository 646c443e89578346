import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jobIdIn, shell, until } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

let target: Target;
beforeEach(() => {
  target = createTarget();
});
afterEach(() => target.remove());

/** Processes of this machine whose command line or environment names a job of this test. */
function processesOf(marker: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      return ["cmdline", "environ"].some((file) =>
        readFileSync(`/proc/${pid}/${file}`, "utf8").includes(marker),
      );
    } catch {
      return false;
    }
  });
}

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

/** The files that a job may leave in its folder: its story and its undo record. */
const LEFT =
  /^(job\.json|journal\.ndjson|state\.json|plan\.ndjson|slots|stands\.\d+\.ndjson|stamp|after\.bin|after\.json)$/;

function leftovers(): string[] {
  const workspaces = join(target.home, "workspaces");
  return readdirSync(workspaces).flatMap((id) =>
    readdirSync(join(workspaces, id, "jobs")).flatMap((job) =>
      readdirSync(join(workspaces, id, "jobs", job)).filter((name) => !LEFT.test(name)),
    ),
  );
}

describe.if(process.platform === "linux" && requirePart("bwrap"))("a job", () => {
  test("that forks without end is over with its timeout, and leaves no process", () => {
    const line = "for i in $(seq 300); do (setsid sh -c 'trap \"\" TERM; sleep 500; :' &) ; done; sleep 500";
    const ran = target.apply([shell(line)], ["--json"], { env: { PICOCLAW_WORKER_COMMAND_TIMEOUT: "2" } });
    expect(ran.out).toContain("timed out after 2 seconds");
    expect(processesOf(target.folder)).toEqual([]);
    expect(target.tree()).toEqual({});
  });

  test("that floods its output has head and tail of it, and ends", () => {
    const limit = { PICOCLAW_WORKER_OUTPUT_LIMIT: "64KiB" };
    const { success, said } = target.try("echo first; yes flood | head -c 200000000; echo last", {
      env: limit,
    });
    expect(success).toBe(true);
    expect(said.length).toBeLessThan(70_000);
    expect(said).toStartWith("first\n");
    expect(said).toEndWith("last\n");
  });

  test("that leaves a writer behind commits the files as they were when it ended, and the writer is ended", async () => {
    const line =
      "(while :; do date +%N >> log; echo $RANDOM > r$((RANDOM % 20)); done) & sleep 0.2; echo done > done";
    const ran = target.apply([shell(line)], ["--json"]);
    expect(ran.code).toBe(0);
    const after = target.tree();
    expect(after.done).toBe("done\n");
    expect(processesOf(target.folder)).toEqual([]);
    expect(target.run(["undo"]).code).toBe(0);
    expect(target.tree()).toEqual({});
    expect(target.run(["redo"]).code).toBe(0);
    expect(target.tree()).toEqual(after);
  });

  test("whose executor is killed fails, applies nothing and leaves nothing", async () => {
    target.write("p.json", JSON.stringify([shell("echo half > half; sleep 300; echo whole > whole")]));
    const job: ChildProcess = target.start(["apply", "p.json"]);
    let said = "";
    for (const stream of [job.stdout, job.stderr]) stream?.on("data", (data) => (said += data));
    const ended = new Promise<number | null>((resolve) => job.on("close", resolve));
    const executor = await until(() => {
      const half = join(target.home, "workspaces");
      const begun = existsSync(half) && spawnSync("find", [half, "-name", "half"]).stdout.length > 0;
      return begun ? childrenOf(childrenOf(job.pid as number)[0] as number)[0] : undefined;
    });
    process.kill(executor, "SIGKILL");
    expect(await ended).toBe(1);
    expect(said).toContain("was ended, so the job failed");
    expect(said).toContain(`Nothing of #${jobIdIn(said)} was applied`);
    expect(Object.keys(target.tree())).toEqual(["p.json"]);
    expect(leftovers()).toEqual([]);
    expect(target.try("echo on").said).toBe("on\n");
  });

  test("that crashes its executor from inside fails as a whole", () => {
    const ran = target.apply([shell("echo half > half; kill -SEGV 1; sleep 3"), shell("echo on > on")]);
    expect(ran.code).toBe(1);
    expect(ran.out + ran.err).toContain("was ended, so the job failed");
    expect(target.tree()).toEqual({});
    expect(leftovers()).toEqual([]);
  });

  test("that makes folders no user may enter is committed with all they hold, and undone", () => {
    target.write("old/file", "old");
    const { success } = target.try(
      "mkdir -p shut/in; echo x > shut/in/f; chmod 000 shut/in shut; chmod 500 old",
    );
    expect(success).toBe(true);
    spawnSync("chmod", ["-R", "u+rwx", join(target.workspace, "shut")]);
    expect(existsSync(join(target.workspace, "shut/in/f"))).toBe(true);
    expect(leftovers()).toEqual([]);
    spawnSync("chmod", ["u+w", join(target.workspace, "old")]);
  });
});
