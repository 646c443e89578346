import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { requirePart } from "../../require.ts";
import { docker } from "../containers/real-engine.ts";
import { buildImages, createTaskBench, shellKind, type TaskBench } from "./task-kit.ts";

const containers = () => docker("ps", "-a", "--filter", "name=agent-runner-", "--format", "{{.Names}}");

describe.if(requirePart("docker"))("a worker's runs on the host's repository", () => {
  const benches: TaskBench[] = [];
  function bench(name?: string, kind = shellKind): TaskBench {
    const made = createTaskBench(name, kind);
    benches.push(made);
    made.write("a.txt", "one\n");
    made.write("lib/x", "x\n");
    made.write("lib/deep/y", "y\n");
    made.git("add", ".");
    made.git("commit", "-qm", "first");
    return made;
  }
  /** The engine's events of a task's container. */
  async function frozenDuring(at: TaskBench, prompts: readonly string[]): Promise<string[]> {
    const since = String(Date.now() / 1000);
    const { record } = await at.run({ id: "staging-still", prompts });
    expect(record.state).toBe("COMPLETE");
    const until = String(Date.now() / 1000 + 1);
    const filters = ["--filter", "container=agent-runner-staging-still", "--format", "{{.Action}}"];
    const events = docker("events", "--since", since, "--until", until, ...filters);
    return events.split("\n").filter((action) => /^(un)?pause$/.test(action));
  }
  beforeAll(() => buildImages("coding-agent-executor"), 900_000);
  afterAll(() => {
    for (const one of benches) one.end();
  });

  test("each is a job of its own in one container, and the group is undone exactly", async () => {
    const at = bench();
    const before = at.tree();
    const { record } = await at.run({
      id: "staging1",
      prompts: [
        "echo two >> a.txt; rm -r lib; mkdir -p new/sub; echo 1 > new/sub/f; echo 2 > new/g; touch /var/tmp/marker; chmod +x a.txt; ln -s a.txt link; echo first",
        // The second run, in the same container, removes, changes or replaces the files of the first.
        "test -e /var/tmp/marker && test $GIVEN = value || exit 9; rm new/g; echo more >> new/sub/f; mkdir lib; echo again > lib/x; rm link; git add -A; git -c user.name=w -c user.email=w@w commit -qm work; pwd",
        "rm -r new; echo three >> a.txt",
      ],
      test: "cat a.txt",
    });
    expect(record.state).toBe("COMPLETE");
    const db = openSqlite(join(at.home, "picoclaw.db"));
    const counted = await db
      .selectFrom("usage_entries")
      .select("role")
      .where("group_id", "=", "staging1")
      .execute();
    await db.destroy();
    // A plan, three runs, the end, the verdict: every answer of the planner is written down, and what the CLI used in each run.
    expect(counted.map(({ role }) => role).sort()).toEqual([
      ...Array(6).fill("coder3"),
      ...Array(3).fill("worker-cli"),
    ]);
    const runs = record.loops.flatMap(({ run }) => (run ? [run] : []));
    expect(runs.map(({ error, job }) => [error, job?.outcome])).toEqual(Array(3).fill([null, "committed"]));
    expect(runs[1]?.summary).toBe("/workspace/project\n");
    const changed = ["a.txt", "lib", "link", "new", "new/g", "new/sub", "new/sub/f"];
    expect(runs[0]?.job?.changes.map(({ path }) => path).sort()).toEqual(changed);
    expect(runs[2]?.job?.changes).toEqual([
      { path: "a.txt", kind: "modified" },
      { path: "new", kind: "deleted" },
    ]);
    expect(at.tree()).toEqual({ "a.txt": "one\ntwo\nthree\n", "lib/x": "again\n" });
    expect(statSync(join(at.workspace, "a.txt")).mode & 0o111).not.toBe(0);
    expect(at.git("log", "--format=%s").split("\n").slice(0, 2)).toEqual(["work", "first"]);
    expect(existsSync(join(at.workspace, "new"))).toBe(false);
    const { workspace } = await at.open();
    const undone = await workspace.takeBack({ direction: "undo", name: "staging1", force: false });
    expect(undone.status).toBe("done");
    expect(at.tree()).toEqual(before);
    expect(at.git("status", "--short")).toBe("");
    expect(at.git("log", "--format=%s")).toBe("first\n");
    expect(containers()).not.toContain("staging1");
    expect(readdirSync(join(workspace.storage, "tasks", "staging1"))).not.toContain("view");
  }, 300_000);

  test("protected files, hooks and git's settings are put back, in the container too", async () => {
    const at = bench();
    at.write(".env", "PORT=1\n");
    const { record } = await at.run({
      id: "staging2",
      prompts: [
        "echo PORT=2 > .env; echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.pager 'sh -c id'; echo ok > fine.txt",
        "cat .env; test ! -e .git/hooks/pre-commit && echo no hook; git config core.pager || echo no pager",
      ],
    });
    const [first, second] = record.loops.flatMap(({ run }) => (run ? [run] : []));
    expect(first?.error).toContain("protected file cannot be modified: .env (restored)");
    expect(first?.job?.changes).toEqual([{ path: "fine.txt", kind: "added" }]);
    expect(second?.summary).toBe("PORT=1\nno hook\nno pager\n");
    expect(at.read(".env")).toBe("PORT=1\n");
    expect(existsSync(join(at.workspace, ".git/hooks/pre-commit"))).toBe(false);
  }, 300_000);

  test("their files give no user more power, and make no git directory that runs something", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging-power",
      prompts: [
        "cp /bin/true x; chmod 6755 x; mkdir d; chmod 2775 d; git init -q --bare b; cp x b/hooks/update; git config remote.o.url ../o; git config core.pager ./x",
      ],
    });
    const [run] = record.loops.flatMap(({ run }) => (run ? [run] : []));
    expect(run?.error).toContain("git hooks cannot be installed by a job: b/hooks/update (restored)");
    expect(["x", "d"].map((path) => statSync(join(at.workspace, path)).mode & 0o7777)).toEqual([
      0o755, 0o2775,
    ]);
    expect(existsSync(join(at.workspace, "b/hooks/update"))).toBe(false);
    const settings = ["remote.o.url", "core.pager"].map((name) =>
      at.git("config", "--default", "", name).trim(),
    );
    expect(settings).toEqual(["../o", ""]);
  }, 300_000);

  test("a process that hides from being ended is suspended while the job is judged and copied", async () => {
    const at = bench();
    const hidden = `perl -e '# Runs commands inside an environment
use POSIX; exit if fork; POSIX::setsid(); open($_, "+<", "/dev/null") for *STDIN, *STDOUT, *STDERR;
my $n = 0; while (1) { open(my $f, ">", "beat"); print $f $n++; close $f }'`;
    const paused = await frozenDuring(at, ["echo 1 > one", hidden, "echo 2 > two"]);
    // At least once a run: an engine that hears late of a pause of its own tells it twice.
    expect(paused.filter((action) => action === "pause").length).toBeGreaterThanOrEqual(3);
    expect(existsSync(join(at.workspace, "two"))).toBe(true);
  }, 300_000);

  test("an edit on the host meanwhile is a conflict, and never lost", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging3",
      prompts: ["echo worker > a.txt; echo ready; sleep 1"],
      onProgress: (progress) => {
        if (progress.kind === "text" && progress.text === "ready") at.write("a.txt", "mine\n");
      },
    });
    expect([record.state, record.end?.code]).toEqual(["FAILED", "conflict"]);
    expect(at.read("a.txt")).toBe("mine\n");
  }, 300_000);

  test("an edit between two runs is left alone by the second", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging4",
      prompts: ["echo worker > a.txt; mkdir made; echo 1 > made/one", "echo b > b.txt"],
      test: "true",
      // A file saved before that, while the first one is judged, is a conflict with it.
      onRun(loop) {
        if (loop !== 2) return;
        at.write("a.txt", "mine\n");
        at.write("made/mine", "mine\n");
      },
    });
    expect(record.state).toBe("COMPLETE");
    expect(at.tree()).toMatchObject({
      "a.txt": "mine\n",
      "b.txt": "b\n",
      "made/one": "1\n",
      "made/mine": "mine\n",
    });
  }, 300_000);

  test("a preview leaves the repository as it is until it is applied", async () => {
    const at = bench();
    const before = at.tree();
    const { record } = await at.run({
      id: "staging5",
      prompts: ["echo two >> a.txt"],
      noMeta: true,
      preview: true,
    });
    const job = record.loops[0]?.run?.job;
    expect([record.state, job?.outcome]).toEqual(["COMPLETE", "staged"]);
    expect(at.tree()).toEqual(before);
    const { workspace } = await at.open();
    expect((await workspace.commitPreview(job?.id ?? "")).status).toBe("done");
    expect(at.read("a.txt")).toBe("one\ntwo\n");
  }, 300_000);

  test("a run past its time is ended with everything it started, and the next one continues", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging6",
      prompts: [
        "echo partly > p.txt; setsid sleep 999 & (trap '' TERM; sleep 998) & sleep 997",
        "ps -eo args | grep -c '[s]leep 99' || echo none",
      ],
      maxRunTimeSec: 2,
    });
    const [first, second] = record.loops.flatMap(({ run }) => (run ? [run] : []));
    expect(first?.error).toContain("ended after 2 seconds");
    expect(first?.job?.changes).toEqual([{ path: "p.txt", kind: "added" }]);
    expect(second?.summary).toBe("0\nnone\n");
  }, 300_000);

  test("a container that is killed from outside fails the run, and the next run gets another", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging7",
      prompts: ["echo lost > lost.txt; echo ready; sleep 60", "echo kept > kept.txt"],
      onProgress: (progress) => {
        if (progress.kind === "text" && progress.text === "ready") docker("kill", "agent-runner-staging7");
      },
    });
    const [first, second] = record.loops.flatMap(({ run }) => (run ? [run] : []));
    expect(first?.error).not.toBeNull();
    expect([second?.error, record.state]).toEqual([null, "COMPLETE"]);
    expect(at.tree()).toMatchObject({ "kept.txt": "kept\n" });
  }, 300_000);

  test("an interrupt reverts the run, removes the container, and a resume continues", async () => {
    const at = bench();
    const before = at.tree();
    const stop = new AbortController();
    const first = await at.run({
      id: "staging8",
      prompts: ["echo half > half.txt; echo ready; sleep 60"],
      signal: stop.signal,
      onProgress: (progress) => {
        if (progress.kind === "text" && progress.text === "ready") stop.abort();
      },
    });
    expect([first.interrupted, at.tree()]).toEqual([true, before]);
    expect(containers()).not.toContain("staging8");
    const second = await at.run({ id: "staging8", prompts: ["echo whole > whole.txt"], resume: true });
    expect(second.record.state).toBe("COMPLETE");
    expect(at.tree()).toMatchObject({ "whole.txt": "whole\n" });
    expect(at.read(".picoclaw/task-staging8.md")).toContain("COMPLETE");
  }, 300_000);

  test("a crash leaves the repository unchanged, and the next task clears the remains", async () => {
    const child = Bun.spawn([process.execPath, "--no-env-file", join(import.meta.dir, "task-child.ts")], {
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env },
    });
    let said = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      said += piece;
      if (said.includes("ready\n")) break;
    }
    child.kill("SIGKILL");
    await child.exited;
    const { folder } = JSON.parse(said.split("\n")[0] ?? "") as { folder: string };
    const at = createTaskBench("ws", shellKind, folder);
    benches.push(at);
    expect(at.tree()).toEqual({ "a.txt": "one\n" });
    expect(containers()).toContain("agent-runner-killed1");
    const { record } = await at.run({ id: "after1", prompts: ["cat a.txt"] });
    expect([record.state, record.loops[0]?.run?.summary]).toEqual(["COMPLETE", "one\n"]);
    expect(containers()).not.toContain("killed1");
    const { workspace } = await at.open();
    expect(existsSync(join(workspace.storage, "tasks/killed1/view"))).toBe(false);
    const resumed = await at.run({ id: "killed1", prompts: ["echo done > a.txt"], resume: true });
    expect([resumed.record.state, at.read("a.txt")]).toEqual(["COMPLETE", "done\n"]);
  }, 300_000);

  test("where no overlay can be laid, a copy serves, and its difference is the job", async () => {
    const at = bench("w,s");
    const { record } = await at.run({
      id: "staging9",
      prompts: ["echo two >> a.txt; rm -r lib; echo n > n", "cat a.txt; ls; rm n"],
    });
    expect(record.loops.flatMap(({ run }) => (run ? [run.error] : []))).toEqual([null, null]);
    expect(at.tree()).toEqual({ "a.txt": "one\ntwo\n" });
    expect(record.loops[1]?.run?.job?.changes).toEqual([{ path: "n", kind: "deleted" }]);
  }, 300_000);

  test("a worktree's commits land in the repository it belongs to", async () => {
    const at = bench();
    at.git("worktree", "add", "-q", "../tree", "-b", "side");
    const other: TaskBench = { ...at, workspace: join(at.folder, "tree") };
    const opened = await import("../../../src/wiring/tasks.ts");
    const tasks = await opened.openTasks(
      at.env,
      { cwd: other.workspace, workspace: other.workspace },
      () => shellKind,
    );
    if (!tasks.ok) throw new Error("not opened");
    const { readTaskFile } = await import("../../../src/config/task-file.ts");
    const source = JSON.stringify({
      version: 1,
      task: {
        id: "staging10",
        prd: {
          text: "echo w > w.txt; git add w.txt; git -c user.name=w -c user.email=w@w commit -qm side && git log --format=%s -1",
        },
      },
      runner: { worker: { kind: "codex-cli", docker_image: shellKind.image, env: { A: "b" } } },
    });
    const file = readTaskFile(source, "t", {});
    if (!file.ok) throw new Error("not read");
    const ran = await tasks.tasks.run({
      ...file,
      source,
      noMeta: true,
      preview: false,
      signal: new AbortController().signal,
      onRecord() {},
      onProgress() {},
    });
    expect(ran).toMatchObject({ ok: true, record: { state: "COMPLETE", end: { summary: "side\n" } } });
    expect(at.git("log", "--format=%s", "-1", "side")).toBe("side\n");
  }, 300_000);

  test("the project's own tests do not see the worker's key", async () => {
    const at = bench();
    const { record } = await at.run({
      id: "staging13",
      noMeta: true,
      prompts: ["echo $CODEX_API_KEY | wc -c; echo x > x"],
      test: 'test -z "$CODEX_API_KEY"',
    });
    expect(record.state).toBe("COMPLETE");
  }, 300_000);

  test("the login's files are in memory only, and nothing of a key stays anywhere", async () => {
    const at = bench();
    mkdirSync(join(at.folder, "user/.codex"), { recursive: true });
    const secret = "token-abcdefghijklmnopqrstuvwxyz0123456789";
    writeFileSync(join(at.folder, "user/.codex/auth.json"), JSON.stringify({ token: secret }));
    chmodSync(join(at.folder, "user/.codex/auth.json"), 0o600);
    let seen = "";
    const { record, json } = await at.run({
      id: "staging11",
      noMeta: true,
      prompts: [
        `cat $HOME/.codex/auth.json; stat -f -c %T $HOME/.codex/auth.json; stat -c %a $HOME/.codex/auth.json; echo ready; sleep 1`,
      ],
      onProgress: (progress) => {
        if (progress.kind === "text" && progress.text === "ready")
          seen = docker("inspect", "agent-runner-staging11");
      },
    });
    expect(record.end?.summary).toContain("tmpfs\n600\n");
    expect(record.notes).toEqual([
      expect.stringContaining("NOT CHECKED"),
      expect.stringContaining("the project's own code could read it"),
    ]);
    const { workspace } = await at.open();
    const everything = [
      seen,
      json,
      at.read(".picoclaw/task-staging11.md"),
      ...filesBelow(workspace.storage),
    ].join("\n");
    expect(seen).toContain("agent-runner-staging11");
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(at.env.CODEX_API_KEY);
  }, 300_000);

  test("a key stays outside: the worker uses it, and nothing in the container has it", async () => {
    const got: string[] = [];
    const server = createServer((request, response) => {
      got.push(String(request.headers.authorization));
      response.end("an answer");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const lead = (base: string) => ({ env: { MODEL_BASE: base }, argv: ["sh"] as const });
    const at = bench("ws", {
      ...shellKind,
      route: () => ({ upstream: `http://127.0.0.1:${port}/v1`, lead }),
    });
    const { record } = await at.run({
      id: "staging14",
      noMeta: true,
      prompts: [
        'curl -sS -H "Authorization: Bearer $CODEX_API_KEY" $MODEL_BASE/x; cat /proc/*/environ > seen 2>/dev/null; echo $MODEL_BASE > base; true',
      ],
      // When no worker runs, there is no way to the key either.
      test: '! curl -sS -H "Authorization: Bearer x" "$(cat base)/x"',
    });
    server.close();
    expect(record.loops[0]?.run?.summary).toContain("an answer");
    expect(got).toEqual([`Bearer ${at.env.CODEX_API_KEY}`]);
    expect(at.read("seen")).toContain("CODEX_API_KEY=picoclaw-");
    expect(at.read("seen")).not.toContain(at.env.CODEX_API_KEY);
    expect([record.state, record.notes]).toEqual(["COMPLETE", []]);
  }, 300_000);

  test("a login that is refreshed inside is refreshed outside, and one that was tampered with is not", async () => {
    const at = bench();
    const file = join(at.folder, "user/.codex/auth.json");
    const login = (token: string, account = "me") =>
      JSON.stringify({ tokens: { access_token: token, account_id: account } });
    writeFileSync(file, login("old-token"), { mode: 0o600 });
    const write = (text: string) =>
      `echo '${text}' | tr -d '\\n' > $HOME/.codex/new; mv $HOME/.codex/new $HOME/.codex/auth.json`;
    await at.run({ id: "staging15", noMeta: true, prompts: [write(login("new-token"))] });
    expect(readFileSync(file, "utf8")).toBe(login("new-token"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { record } = await at.run({
      id: "staging16",
      noMeta: true,
      prompts: [write(login("new-token", "thief"))],
    });
    expect(readFileSync(file, "utf8")).toBe(login("new-token"));
    expect(record.notes.at(-1)).toContain("not the same login, refreshed");
  }, 300_000);
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}
