/**
 * A workspace on a file system that takes `A` for `a`, as macOS has and a Windows disk in WSL. Every job does what it says, or
 * refuses in one sentence, and undo and redo restore the tree with every name as it was spelled.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, shell } from "./cli-kit.ts";

const rename = (target: string, content: string) => ({
  type: "file_edit",
  action: "rename",
  target,
  content,
});
const remove = (target: string) => ({ type: "file_edit", action: "delete", target });
const FILES = { "README.md": "# old\n", "a.js": "a\nb\n", "run.sh": "echo hi\n", "src/App.js": "app\n" };
const { "a.js": A, "README.md": README, "src/App.js": APP, ...REST } = FILES;

const JOBS: readonly (readonly [name: string, patch: unknown, after: Readonly<Record<string, string>>])[] = [
  [
    "a deletion and a creation",
    [remove("README.md"), create("readme.md", "n")],
    { ...REST, "a.js": A, "readme.md": "n", "src/App.js": APP },
  ],
  [
    "a move by V4A",
    "*** Begin Patch\n*** Update File: a.js\n*** Move to: A.js\n@@\n-a\n+c\n*** End Patch\n",
    { ...REST, "A.js": "c\nb\n", "README.md": README, "src/App.js": APP },
  ],
  [
    "a rename by a diff",
    "diff --git a/a.js b/A.js\nsimilarity index 100%\nrename from a.js\nrename to A.js\n",
    { ...REST, "A.js": A, "README.md": README, "src/App.js": APP },
  ],
  [
    "a rename in two steps",
    [shell("mv a.js b.js && mv b.js A.js")],
    { ...REST, "A.js": A, "README.md": README, "src/App.js": APP },
  ],
  [
    "a folder in two steps",
    [shell("mv src tmp && mv tmp Src")],
    { ...REST, "a.js": A, "README.md": README, "Src/App.js": APP },
  ],
  ["a command that writes", [shell("echo new > Readme.md")], { ...FILES, "README.md": "new\n" }],
  ["a command that removes", [shell("rm readme.md")], { ...REST, "a.js": A, "src/App.js": APP }],
  ["a command that removes a folder", [shell("rm -rf SRC")], { ...REST, "a.js": A, "README.md": README }],
  ["a command that creates below", [shell("echo 1 > SRC/n.js")], { ...FILES, "src/n.js": "1\n" }],
];

const REFUSED: readonly (readonly [name: string, patch: unknown, says: string])[] = [
  ["a second spelling of a file", [create("Readme.md", "n")], "this file system has README.md for Readme.md"],
  ["a second spelling of a folder", [create("SRC/n.js", "n")], "this file system has src for SRC"],
  ["a rename by an edit", [rename("a.js", "A.js")], "this file system has a.js for A.js"],
  ["a deletion by another spelling", [remove("readme.md")], "no such file or directory: readme.md"],
  [
    "a diff by another spelling",
    "--- a/SRC/app.js\n+++ b/SRC/app.js\n@@ -1 +1 @@\n-app\n+new\n",
    "SRC/app.js: No such file",
  ],
];

describe.if(requirePart("folds-case"))("on a file system that folds case", () => {
  let cli: Cli;
  const open = () => {
    cli = createCli(process.env.CASE_INSENSITIVE);
    for (const [path, text] of Object.entries(FILES)) cli.write(path, text);
  };
  const apply = (patch: unknown) =>
    cli.run(["apply"], { input: typeof patch === "string" ? patch : JSON.stringify(patch) });
  afterEach(() => cli.remove());

  test.each(JOBS)("%s lands and is undone by name", (_name, patch, after) => {
    open();
    expect(apply(patch)).toMatchObject({ code: 0, err: "" });
    expect(cli.tree()).toEqual({ ...after });
    for (const [verb, tree] of [
      ["undo", FILES],
      ["redo", after],
      ["undo", FILES],
    ] as const) {
      expect(cli.run([verb]).code).toBe(0);
      expect(cli.tree()).toEqual({ ...tree });
    }
  });

  test.each(REFUSED)("%s is refused in one sentence", (_name, patch, says) => {
    open();
    const said = apply(patch);
    expect(said.code).toBe(1);
    expect(said.out).toContain(says);
    expect(cli.tree()).toEqual(FILES);
  });
});
