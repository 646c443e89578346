import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type View, ViewFault } from "../../../src/application/ports/platform-view.ts";
import {
  type ContainerFileThread,
  createContainerView,
  createFileThread,
  type FileChannel,
} from "../../../src/infrastructure/containers/container-files.ts";
import { openEngine } from "../../../src/infrastructure/containers/docker-engine.ts";
import { createFolderView } from "../../../src/infrastructure/platform/folder-view.ts";
import { type OpenContainer, openContainer } from "../../../src/wiring/container-toolkits.ts";
import type { WiredEnvironments } from "../../../src/wiring/environments.ts";
import { describeWorkspace } from "../../contracts/workspace.contract.ts";
import { requirePart } from "../../require.ts";
import { createEnvironmentKit, type EnvironmentKit, executor } from "./environment-kit.ts";
import { DOCKER_HOST, docker } from "./real-engine.ts";

describe.if(requirePart("docker") && requirePart("environment-images"))("a container as a workspace", () => {
  let kit: EnvironmentKit;
  let container: string;
  let environments: WiredEnvironments;
  let place: OpenContainer;
  let files: ContainerFileThread;
  const uuid = randomUUID();

  beforeAll(async () => {
    kit = createEnvironmentKit();
    environments = await kit.open(executor());
    const repository = kit.repository({ "a.txt": "one\ntwo\n", "b.txt": "b\n", ".env": "SECRET=1\n" });
    const info = await environments.manager.prepare({ uuid, repository }, "python");
    container = info.container_id;
    const engine = openEngine({ api_timeout: 60, host: DOCKER_HOST } as never, {});
    if ("ok" in engine) throw new Error(engine.detail);
    files = createFileThread(engine);
    place = await openContainer(environments.toolParts, files, info);
  });
  afterAll(async () => {
    place?.workspace.close();
    files?.close();
    await kit?.end();
  });

  const inside = (command: string) => docker("exec", container, "sh", "-c", command);
  const apply = async (commands: readonly object[], more: object = {}) => {
    const result = await place.workspace.execute({
      patch: JSON.stringify(commands),
      source: "test",
      startedBy: "user",
      dryRun: false,
      preview: false,
      atomic: false,
      stopOnError: false,
      autoCommit: false,
      signal: new AbortController().signal,
      ...more,
    });
    if (result.about !== "job") throw new Error(JSON.stringify(result));
    return result;
  };

  describeWorkspace("a container", () => ({
    workspace: place.workspace,
    shell: (line) => inside(`cd /workspace/project && ${line}`),
  }));

  test("checks of a draft run in the container; it has no baseline", async () => {
    const signal = new AbortController().signal;
    const opened = await place.workspace.openDraft({
      source: "test",
      startedBy: "user",
      checked: true,
      signal,
    });
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { draft } = opened;
    const edit = { type: "file_edit", action: "create", target: "checked.txt", content: "checked\n" };
    await draft.run({ attempt: 1, work: { patch: JSON.stringify([edit]) } });
    const request = { commands: ["cat checked.txt", "exit 3"], timeoutSeconds: 30 };
    expect(await draft.check({ ...request, over: "draft" })).toMatchObject({
      ok: true,
      runs: [
        { exitCode: 0, output: "checked\n" },
        { exitCode: 3, output: "" },
      ],
    });
    expect(await draft.check({ ...request, over: "baseline" })).toMatchObject({
      ok: false,
      why: "unavailable",
    });
    await draft.discard("test");
    expect(inside("ls /workspace/project")).not.toContain("checked.txt");
  });

  test("its files answer exactly as a folder's do", async () => {
    inside("mkdir -p /workspace/tmp/view");
    const channel = (await files.open(container, "/workspace/tmp/view")) as FileChannel;
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-view-"));
    const views = [createContainerView(channel), createFolderView(folder)] as const;
    const bytes = Buffer.from([0, 255, 10, 13, 200, 1]);
    const text = (value: string) => Buffer.from(value);
    const steps: readonly ((view: View) => unknown)[] = [
      (view) => view.look(""),
      (view) => view.look("none"),
      (view) => view.read("none"),
      (view) => view.write("a/b/c.bin", bytes),
      (view) => Buffer.from(view.read("a/b/c.bin")).toString("hex"),
      (view) => view.look("a/b/c.bin"),
      (view) => view.write("a/b/c.bin", text("x"), 0o755),
      (view) => view.look("a/b/c.bin"),
      (view) => view.write("a/b/c.bin", text("kept mode")),
      (view) => view.look("a/b/c.bin"),
      (view) => view.write("a/b", text("a folder")),
      (view) => view.read("a/b"),
      (view) => view.look("a/b/c.bin/d"),
      (view) => view.write("a/b/c.bin/d", text("below a file")),
      (view) => view.makeSymlink("link", "a/b/c.bin"),
      (view) => view.look("link"),
      (view) => view.read("link"),
      (view) => view.makeSymlink("out", "/etc"),
      (view) => view.look("out/passwd"),
      (view) => view.read("out/passwd"),
      (view) => view.write("out/made", text("through a link")),
      (view) => view.makeSymlink("in", "a"),
      (view) => view.look("in/b/c.bin"),
      (view) => view.makeDirectory("d/e"),
      (view) => view.makeDirectory("d/e"),
      (view) => view.makeDirectory("a/b/c.bin"),
      (view) => view.remove("d"),
      (view) => view.remove("d/e"),
      (view) => view.remove("none"),
      (view) => view.remove("link"),
      (view) => view.copy("a/b/c.bin", "copied/c.bin"),
      (view) => view.look("copied/c.bin"),
      (view) => view.copy("in", "copied/in"),
      (view) => view.look("copied/in"),
      (view) => view.copy("none", "x"),
      (view) => view.rename("copied/c.bin", "moved.bin"),
      (view) => Buffer.from(view.read("moved.bin")).toString(),
      (view) => view.rename("a", "z"),
      (view) => view.look("z/b/c.bin"),
      (view) => view.rename("z", "d"),
      (view) => view.rename("none", "x"),
      (view) => view.write("日本語 と space.txt", text("é\n")),
      (view) => [...view.list("")].sort(),
      (view) => view.list("moved.bin"),
      (view) => view.list("none"),
      (view) => view.write("large", Buffer.alloc(3_000_000, "ab")),
      (view) => Bun.hash(view.read("large")),
      (view) => view.write("n".repeat(300), text("")),
    ];
    try {
      const answers = steps.map((step) => views.map((view) => outcomeOf(() => step(view))));
      const [theirs, ours] = [0, 1].map((which) =>
        answers.map((answer, at) => [String(steps[at]).slice(10), answer[which]]),
      );
      expect(theirs).toEqual(ours as never);
      const large = createContainerView(channel).readPart("large", 1, 4);
      expect(Buffer.from(large).toString()).toBe("baba");
    } finally {
      channel.close();
      rmSync(folder, { recursive: true });
      inside("rm -r /workspace/tmp/view");
    }
  });

  test("a job edits and runs there, in order, and is journalled", async () => {
    const ran = await apply([
      { type: "file_edit", action: "create", target: "src/new.py", content: "print('new')\n" },
      { type: "shell_command", action: "run", target: "python src/new.py && pwd" },
      { type: "git_operation", action: "add", target: "src/new.py" },
    ]);
    expect(ran.commands.map(({ success, output }) => [success, output.trim()])).toEqual([
      [true, "File src/new.py written successfully (13 bytes)"],
      [true, "new\n/workspace/project"],
      [true, expect.any(String)],
    ]);
    expect(ran.undo).toBe("unavailable");
    expect(ran.notes).toContainEqual({ code: "undone-by-task" });
    expect(inside("git -C /workspace/project status --short")).toContain("A  src/new.py");
    const journal = place.workspace.archive.events(ran.jobId).map(({ event }) => event.type);
    const command = ["command_started", "command_finished"] as const;
    expect(journal).toEqual(["job_started", ...command, ...command, ...command, "committed"]);
    inside("cd /workspace/project && git reset -q --hard && git clean -fdq");
  });

  test("paths that lead out are refused; protected files too", async () => {
    inside("cd /workspace/project && ln -s /etc out");
    const ran = await apply([
      { type: "file_edit", action: "create", target: "../tmp/x", content: "x" },
      { type: "file_edit", action: "create", target: "out/x", content: "x" },
      { type: "file_edit", action: "create", target: "/etc/x", content: "x" },
      { type: "file_edit", action: "update", target: ".env", content: "x" },
    ]);
    expect(ran.commands.map(({ success }) => success)).toEqual([false, false, false, false]);
    expect(inside("cat /workspace/project/.env")).toBe("SECRET=1");
    inside("rm /workspace/project/out");
  });

  test("a job of edits is undone and redone; a later change is a conflict", async () => {
    const result = await apply([
      { type: "file_edit", action: "update", target: "a.txt", content: "changed\n" },
      { type: "file_edit", action: "create", target: "fresh/c.txt", content: "c\n" },
      { type: "file_edit", action: "delete", target: "b.txt" },
    ]);
    expect(result.undo).toBe("available");
    expect(result.changes).toEqual([
      { path: "a.txt", kind: "modified" },
      { path: "fresh/c.txt", kind: "added" },
      { path: "b.txt", kind: "deleted" },
    ]);
    const back = (direction: "undo" | "redo", force = false) =>
      place.workspace.takeBack({ direction, force, name: result.jobId });
    const stands = () => inside("cd /workspace/project; cat a.txt; ls b.txt fresh/c.txt 2>/dev/null || true");
    expect((await back("undo")).status).toBe("done");
    expect(stands()).toBe("one\ntwo\nb.txt");
    expect((await back("redo")).status).toBe("done");
    expect(stands()).toBe("changed\nfresh/c.txt");
    inside("echo mine > /workspace/project/a.txt");
    expect(await back("undo")).toMatchObject({ status: "conflict", conflicts: [{ path: "a.txt" }] });
    expect(stands()).toBe("mine\nfresh/c.txt");
    expect((await back("undo", true)).status).toBe("done");
    expect(stands()).toBe("one\ntwo\nb.txt");
  });

  test("a job of edits that is stopped, or fails and must be whole, leaves the files as they were", async () => {
    const failing = await apply(
      [
        { type: "file_edit", action: "update", target: "a.txt", content: "half\n" },
        { type: "file_edit", action: "delete", target: "none.txt" },
      ],
      { atomic: true },
    );
    expect(failing.outcome).toBe("rolled-back");
    expect(inside("cat /workspace/project/a.txt")).toBe("one\ntwo");
    const abort = new AbortController();
    const stopped = await apply(
      [
        { type: "file_edit", action: "update", target: "a.txt", content: "half\n" },
        { type: "file_edit", action: "update", target: "b.txt", content: "half\n" },
      ],
      {
        signal: abort.signal,
        onEvent: ({ type }: { type: string }) => type === "command_finished" && abort.abort(),
      },
    );
    expect(stopped.outcome).toBe("aborted");
    expect(inside("cat /workspace/project/a.txt /workspace/project/b.txt")).toBe("one\ntwo\nb");
  });

  test("a file that is too large to be kept is deleted all the same, and reported", async () => {
    inside("head -c 70000000 /dev/zero > /workspace/project/large.bin");
    const result = await apply([{ type: "file_edit", action: "delete", target: "large.bin" }]);
    expect([result.success, result.changes]).toEqual([true, [{ path: "large.bin", kind: "deleted" }]]);
    inside("head -c 70000000 /dev/zero > /workspace/project/large.bin");
    const read = await apply([{ type: "file_edit", action: "append", target: "large.bin", content: "x" }]);
    expect(read.commands[0]).toMatchObject({
      success: false,
      error: expect.stringContaining("64 MiB"),
    });
    inside("rm /workspace/project/large.bin");
  });

  test("an answer that a task forged is not accepted, and takes no memory", async () => {
    // Stops the server that runs as the task's user, and writes to its output in its place.
    const server = inside("ps -eo pid,args | grep '[A]nswers for the files' | head -1").trim().split(" ")[0];
    inside(`kill -STOP ${server}; printf '\\377\\377\\377\\377garbage' > /proc/${server}/fd/1`);
    expect(() => place.workspace.files.look("a.txt")).toThrow("cannot be reached");
    expect(place.workspace.isBroken()).toBe(true);
    inside(`kill -KILL ${server}`);
  });

  test("the file server is not one of the task's processes, and ends with its connection", async () => {
    const channel = (await files.open(container, "/workspace/project")) as FileChannel;
    const running = () => inside("ps -eo args | grep -c '[A]nswers for the files' || true");
    expect([running(), await environments.sandboxes.listProcesses(container)]).toEqual(["1", []]);
    channel.close();
    const deadline = performance.now() + 5000;
    while (running() !== "0" && performance.now() < deadline) Bun.sleepSync(50);
    expect(running()).toBe("0");
  });
});

/** The result of an operation, or the fault that it names. */
function outcomeOf(step: () => unknown): unknown {
  try {
    return step();
  } catch (error) {
    if (error instanceof ViewFault) return `fault ${error.code}`;
    throw error;
  }
}
