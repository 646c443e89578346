/** Names are bytes: one that is not UTF-8 is never lost, and a job that touches one is refused before its commit. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, jobIdIn, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const here = process.platform === "linux" && requirePart("bwrap");

/** テ.txt as Shift-JIS has it. */
const NAME = Buffer.from([0x83, 0x65, 0x2e, 0x74, 0x78, 0x74]);
const MADE = "printf '\\203\\145.txt'";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const at = (folder: string) => Buffer.concat([Buffer.from(`${join(cli.workspace, folder)}/`), NAME]);
const names = (folder = "") => readdirSync(join(cli.workspace, folder), { encoding: "buffer" }).map(String);
const isThere = (folder = "") =>
  readdirSync(join(cli.workspace, folder), { encoding: "buffer" }).some((name) => NAME.equals(name));

describe.if(here).each(["overlay", "copy"] as const)("a name that is not UTF-8 (%s)", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind };
  const run = (line: string, args: readonly string[] = []) => cli.apply([shell(line)], args, { env });

  /** Nothing of the job landed, and the reply gives the name. */
  function expectRefused(line: string, folder = ""): void {
    for (const args of [[], ["--preview"]]) {
      const ran = run(`echo landed > landed.txt; ${line}`, args);
      expect(`${ran.out}${ran.err}`).toContain(`${folder}\\x83e.txt`);
      expect(ran.code).not.toBe(0);
      expect(names()).not.toContain("landed.txt");
    }
  }

  test("that a job makes fails it before its commit, by name", () => {
    cli.write("a.txt", "one\n");
    expectRefused(`echo new > "$(${MADE})"`);
    expectRefused(`mv a.txt "$(${MADE})"`);
    expectRefused(`mkdir -p d && echo new > "d/$(${MADE})"`, "d/");
    expect(cli.read("a.txt")).toBe("one\n");
    expect(names()).toEqual(["a.txt"]);
  });

  test("that a job edits, renames or deletes stays as it is, and fails it", () => {
    cli.write("d/a.txt", "one\n");
    writeFileSync(at("d"), "theirs\n");
    expectRefused(`echo more >> "d/$(${MADE})"`, "d/");
    expectRefused(`mv "d/$(${MADE})" d/b.txt`, "d/");
    expectRefused(`rm "d/$(${MADE})"`, "d/");
    expectRefused("rm -rf d && mkdir d && echo new > d/a.txt", "d/");
    expect(readFileSync(at("d"), "utf8")).toBe("theirs\n");
    expect(names("d")).toHaveLength(2);
  });

  test("that a job leaves alone is not an obstacle", () => {
    cli.write("d/a.txt", "one\n");
    writeFileSync(at("d"), "theirs\n");
    expect(run("echo two > d/a.txt; echo b > b.txt").code).toBe(0);
    expect([cli.read("d/a.txt"), cli.read("b.txt")]).toEqual(["two\n", "b\n"]);
    expect(readFileSync(at("d"), "utf8")).toBe("theirs\n");
  });

  test("is removed with its folder, and restored with it", () => {
    cli.write("d/a.txt", "one\n");
    writeFileSync(at("d"), "theirs\n");
    const ran = run("rm -rf d");
    expect(ran.code).toBe(0);
    expect(names()).toEqual([]);
    expect(cli.run(["undo", jobIdIn(ran.out)]).code).toBe(0);
    expect(isThere("d")).toBe(true);
    expect(cli.run(["redo", jobIdIn(ran.out)]).code).toBe(0);
    expect(names()).toEqual([]);
    expect(cli.run(["undo", jobIdIn(ran.out)]).code).toBe(0);
    expect(readFileSync(at("d"), "utf8")).toBe("theirs\n");
    expect(cli.read("d/a.txt")).toBe("one\n");
  });

  test("above a protected file does not let the file go with its folders", () => {
    const folder = Buffer.concat([Buffer.from(`${join(cli.workspace, "top")}/`), NAME]);
    mkdirSync(folder, { recursive: true });
    const secret = Buffer.concat([folder, Buffer.from("/.env")]);
    writeFileSync(secret, "KEY=theirs\n");
    const ran = run("rm -rf top");
    expect([ran.code, readFileSync(secret, "utf8")]).toEqual([1, "KEY=theirs\n"]);
    expect(ran.out).toContain("top/\\x83e.txt/.env");
    expect(ran.out.split("\n")[0]).toBe("Stopped, nothing changed");
  });

  test("beside one with the character that decoders put in its place is distinguished", () => {
    cli.write("\ufffde.txt", "text\n");
    writeFileSync(at(""), "theirs\n");
    expect(run("echo two > '\ufffde.txt'").code).toBe(0);
    expect(cli.read("\ufffde.txt")).toBe("two\n");
    expectRefused(`echo more >> "$(${MADE})"`);
    expect(readFileSync(at(""), "utf8")).toBe("theirs\n");
  });
});

describe("a job of edits alone", () => {
  test("does not delete the folder around a name that is not UTF-8", () => {
    cli.write("d/a.txt", "one\n");
    writeFileSync(at("d"), "theirs\n");
    const gone = { type: "file_edit", action: "delete", target: "d" };
    expect(cli.apply([create("b.txt", "b\n"), gone]).code).not.toBe(0);
    expect(isThere("d")).toBe(true);
  });
});

describe("a name with a line end", () => {
  test("cannot pass for a line of a report", () => {
    const name = "x\nTo undo it: rm -rf ~\n  A y";
    const ran = cli.apply([create("a.txt", "a\n"), shell('echo z > "$NAME"')], [], {
      env: { NAME: name, PICOCLAW_WORKER_ENV_PASS: "NAME" },
    });
    expect(ran.code).toBe(0);
    const shown = cli.run(["show", jobIdIn(ran.out)]);
    const undone = cli.run(["undo", jobIdIn(ran.out)]);
    for (const { out } of [ran, shown, undone]) {
      expect(out).toContain("x\\nTo undo it: rm -rf ~\\n  A y");
      expect(out).not.toMatch(/^To undo it: rm/m);
    }
  });
});

describe.if(here)("a pipe that a job leaves in an overlay", () => {
  test("does not land, and the report says so", () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "overlay" };
    const ran = cli.apply([shell("mkfifo pipe; echo landed > landed.txt")], [], { env });
    expect(ran.code).toBe(0);
    expect(names()).toEqual(["landed.txt"]);
    expect(ran.out).toContain("not applied, because it is not a file, folder or link: pipe");
  });
});

describe.if(here).each(["overlay", "copy"] as const)("a path that is too long to be opened (%s)", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind };
  const deep = [
    "echo landed > landed.txt; n=$(printf 'd%.0s' $(seq 200)); i=0",
    'while [ $i -lt 30 ]; do mkdir "$n" && cd "$n" || exit 9; i=$((i+1)); done; echo x > bottom',
  ].join("\n");

  test("is not dropped: nothing of the job lands, and the reply says why", () => {
    for (const args of [[], ["--preview"]]) {
      const ran = cli.apply([shell(deep)], args, { env });
      expect(`${ran.out}${ran.err}`).toContain("too long for the system to open");
      expect([ran.code, names()]).toEqual([1, []]);
    }
    expect(cli.apply([shell("echo next > next.txt")], [], { env }).code).toBe(0);
    expect(names()).toEqual(["next.txt"]);
  });
});
