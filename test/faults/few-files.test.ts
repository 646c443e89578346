/** A program that may open few files, or none: it ends with a sentence and another code than success, or does its work. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type Cli, createCli, PROGRAM, treeOf } from "../e2e/cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

/** A subcommand that may have `limit` files open; of these, the program may open `left` when it begins. */
function runWith(limit: number, args: readonly string[], left?: number) {
  const preload = join(import.meta.dir, "few-files-child.ts");
  const env = left === undefined ? {} : { BUN_OPTIONS: `--preload=${preload}`, FILES_LEFT: String(left) };
  return cli.run(["-c", `ulimit -n ${limit} && exec "$@"`, "sh", PROGRAM, ...args], {
    program: "/bin/sh",
    env,
  });
}
const update = (target: string, content: string) => ({
  type: "file_edit",
  action: "update",
  target,
  content,
});

const FOLDERS = Array.from({ length: 60 }, (_, n) => `d${n}/file`);

test.if(process.platform === "linux")(
  "a swap of more folders than files may be open lands, and is undone",
  () => {
    for (const path of FOLDERS) cli.write(path, "old\n");
    cli.apply(FOLDERS.map((path) => update(path, "new\n")));
    const now = () => [...new Set(Object.values(treeOf(cli.workspace)))];
    for (const [verb, text] of [
      ["undo", "old\n"],
      ["redo", "new\n"],
    ] as const) {
      const ran = runWith(40, [verb]);
      expect([ran.code, ran.err, now()]).toEqual([0, "", [text]]);
    }
  },
);

test.if(process.platform === "linux").each(["undo", "redo", "apply --job 2", "diff", "jobs"])(
  "%s says why it ends and does not succeed where no other file can be opened, and changes nothing unsaid",
  (line) => {
    cli.write("a", "old\n");
    cli.apply([update("a", "new\n")]);
    cli.apply([update("a", "newer\n")], ["--preview"]);
    if (line === "redo") cli.run(["undo"]);
    const before = treeOf(cli.workspace);
    let failed = 0;
    for (const left of [0, 1, 2, 3, 4]) {
      const ran = runWith(64, line.split(" "), left);
      if (ran.code === 0) {
        expect(ran.out).not.toBe("");
        break;
      }
      failed += 1;
      expect([left, ran.err === ""]).toEqual([left, false]);
      // What was moved before the last file was opened is said, and settled by the next command.
      if (ran.err.includes("was interrupted half-way")) expect(cli.run(["doctor", "--repair"]).code).toBe(0);
      else expect(treeOf(cli.workspace)).toEqual(before);
    }
    expect(failed).toBeGreaterThan(0);
  },
);
