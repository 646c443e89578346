import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { readLanding, workspaceProcessesFolder } from "../../src/infrastructure/sandbox/process-record.ts";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, jobIdIn, until } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => {
  cli.run(["ps", "stop", "--all"]);
  cli.remove();
});

const SERVER = `${process.execPath} -e 'Bun.serve({port: process.env.PORT, hostname: "127.0.0.1", fetch: () => new Response(Bun.file("page.txt"))})'`;

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly runs: number;
  readonly urls: readonly string[];
  readonly why?: string;
}

const listed = () => cli.json(cli.run(["ps", "--json"])).processes as readonly Listed[];

describe.if(process.platform === "linux" && requirePart("bwrap"))("picoclaw ps", () => {
  test("a process over a preview shows it on a port of its own, changes nothing, and ends with it", async () => {
    cli.write("page.txt", "before");
    cli.write("old/f", "f");
    const made = cli.apply(
      [
        { type: "file_edit", action: "update", target: "page.txt", content: "after" },
        { type: "shell_command", action: "run", target: "rm -r old" },
      ],
      ["--preview"],
    );
    const jobId = jobIdIn(made.out);
    const started = cli.run([
      "ps",
      "start",
      "--name",
      "try",
      "--over",
      jobId,
      `ls; echo aside > aside; ${SERVER}`,
    ]);
    expect(started).toMatchObject({ code: 0, err: "" });
    expect(started.out).toContain("on top of the preview; the folder is not changed");
    const url = /http:\S+/.exec(started.out)?.[0] ?? "";
    expect(await (await fetch(url)).text()).toBe("after");
    expect(cli.run(["ps", "log", "try"]).out).toBe("page.txt\n");
    expect(cli.tree()).toEqual({ "page.txt": "before", "old/f": "f" });
    expect(cli.run(["discard", jobId]).code).toBe(0);
    await until(() => listed()[0]?.state === "ended");
    expect(listed()[0]).toMatchObject({ why: "preview-over" });
    expect(cli.run(["ps", "start", "--over", jobId, "true"])).toMatchObject({
      code: 3,
      err: `#${jobId} is not a waiting preview. See: picoclaw jobs\n`,
    });
  });

  test("a process starts again after what lands and after its undo, where that was asked for", async () => {
    expect(cli.run(["ps", "start", "--restart", "--name", "dev", "--", "sleep", "300"]).code).toBe(0);
    expect(cli.apply([create("a.txt", "a")]).code).toBe(0);
    await until(() => listed()[0]?.runs === 2);
    expect(cli.run(["undo"]).code).toBe(0);
    await until(() => listed()[0]?.runs === 3);
    expect(listed()[0]).toMatchObject({ name: "dev", state: "running" });
    const everywhere = cli.run(["ps", "--all"]);
    expect(everywhere).toMatchObject({ code: 0, err: "" });
    expect(everywhere.out).toContain(cli.workspace);
    expect(cli.run(["ps"]).out).toMatch(/^Process +State +Time +Reached at +Command\ndev +running /);
  });

  test("what cannot be is refused with its reason", () => {
    expect(cli.run(["ps"])).toEqual({ code: 0, out: "There are no background processes.\n", err: "" });
    expect(cli.run(["ps", "stop", "nobody"])).toMatchObject({ code: 2 });
    expect(cli.run(["ps", "start", "--port", "70000", "x"])).toMatchObject({ code: 2 });
    expect(cli.run(["ps", "start", "echo boom; exit 7"])).toEqual({
      code: 1,
      out: "",
      err: "echo ended at once: exit 7\nIts last lines:\nboom\n",
    });
  });
});

test("what apply lands, and its undo, are marked for the processes of the workspace", () => {
  const folder = workspaceProcessesFolder(cli.home, cli.workspace);
  mkdirSync(folder, { recursive: true });
  expect(cli.apply([create("a.txt", "a")]).code).toBe(0);
  const landed = readLanding(folder);
  expect(landed).not.toBe("");
  expect(cli.run(["undo"]).code).toBe(0);
  expect(readLanding(folder) > landed).toBe(true);
});
