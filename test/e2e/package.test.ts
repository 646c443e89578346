/** What `npm pack` makes, installed as npm lays it out: below a global prefix, and in a project beside its dependencies. */

import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../src/infrastructure/engine/walk-folder.ts";
import { requirePart } from "../require.ts";
import { create, createCli, shell } from "./cli-kit.ts";

const ROOT = join(import.meta.dir, "../..");
const NEEDED = [
  ...["bin", "demo", "images", "scripts", "src", "bunfig.toml", "package.json", "package-lock.json"],
  ...[
    "system_prompt_command_executor.txt",
    "tsconfig.json",
    "tsconfig.lib.json",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
  ],
];

const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-package-")));
const cli = createCli();
afterAll(() => {
  cli.remove();
  removeTree(folder);
});

/** Of a copy: packing makes the bundle anew, and other tests are running the one of this checkout. */
const checkout = join(folder, "checkout");
for (const name of NEEDED) cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
const packed = spawnSync("npm", ["pack", "--json", "--offline"], { cwd: checkout, encoding: "utf8" });
if (packed.status !== 0) throw new Error(packed.stderr);
const [tarball = ""] = readdirSync(checkout).filter((name) => name.endsWith(".tgz"));

const globally = join(folder, "global/lib/node_modules/picoclaw");
const project = join(folder, "project");
const locally = join(project, "node_modules/picoclaw");
for (const place of [globally, locally]) {
  mkdirSync(place, { recursive: true });
  spawnSync("tar", ["-xzf", join(checkout, tarball), "--strip-components=1", "-C", place]);
}
symlinkSync(join(ROOT, "node_modules"), join(globally, "node_modules"));
for (const name of readdirSync(join(ROOT, "node_modules")))
  if (name !== "picoclaw") symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
writeFileSync(join(project, "package.json"), '{"type":"module"}');
mkdirSync(join(folder, "global/bin"));
symlinkSync("../lib/node_modules/picoclaw/bin/picoclaw", join(folder, "global/bin/picoclaw"));

const PROGRAMS = {
  globally: join(folder, "global/bin/picoclaw"),
  "in a project": join(locally, "bin/picoclaw"),
};

test("the package holds the program and the library, and neither sources nor tests", () => {
  const names = readdirSync(globally).sort();
  expect(names).toEqual(
    [
      ...[
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "bin",
        "bunfig.toml",
        "demo",
        "dist",
        "images",
        "lib",
        "man",
      ],
      ...["node_modules", "package.json", "system_prompt_command_executor.txt", "tsconfig.json"],
    ].sort(),
  );
  expect(readFileSync(join(globally, "man/picoclaw.1"), "utf8")).toStartWith(".TH PICOCLAW 1");
});

describe.each(Object.entries(PROGRAMS))("installed %s", (name, program) => {
  test("it carries out an edit and takes it back", () => {
    const file = `${name.replaceAll(" ", "-")}.txt`;
    const ran = cli.apply([create(file, "here\n")], ["--json"], { program });
    expect([ran.code, cli.read(file)]).toEqual([0, "here\n"]);
    expect(cli.run(["undo"], { program }).code).toBe(0);
    expect(cli.tree()).not.toHaveProperty([file]);
  });

  test.if(requirePart("bwrap"))("it runs a command in the overlay", () => {
    const ran = cli.apply([shell("echo hi > shell.txt")], ["--json"], { program });
    expect([ran.code, cli.read("shell.txt"), ran.err]).toEqual([0, "hi\n", ""]);
  });
});

test("the library is typed, and works from the package", () => {
  writeFileSync(
    join(project, "use.ts"),
    `import { executeWorkerPatch, type PatchExecutionResult, undoJob } from "picoclaw";
const options = { workspace: process.argv[2] ?? "", home: process.argv[3] ?? "" };
const result: PatchExecutionResult = await executeWorkerPatch("\`\`\`text:lib.txt\\nby the library\\n\`\`\`\\n", options);
// @ts-expect-error a number is no identifier of a job
void (() => undoJob(3, options));
console.log(JSON.stringify(result));
`,
  );
  const compiler = ["--no-env-file", join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "--strict"];
  const choices = ["--target", "esnext", "--module", "nodenext", "--types", "bun", "use.ts"];
  const typed = spawnSync(process.execPath, [...compiler, ...choices], { cwd: project, encoding: "utf8" });
  expect(typed.stdout).toBe("");
  const home = join(folder, "library-home");
  const ran = spawnSync(process.execPath, ["--no-env-file", "use.ts", cli.workspace, home], {
    cwd: project,
    encoding: "utf8",
  });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  expect(cli.read("lib.txt")).toBe("by the library\n");
});
