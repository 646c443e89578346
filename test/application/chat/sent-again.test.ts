/** A patch that a coder sends again within one message: what its own attempts made already is no failure. */

import { afterEach, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const LINES = "one\ntwo\nthree\nfour(a, b)\nfive\nsix\nseven\n";
const v4a = (body: string) => `*** Begin Patch\n${body}*** End Patch`;
const json = (...commands: unknown[]) => `\`\`\`json\n${JSON.stringify(commands)}\n\`\`\``;
const remove = (path: string, line: string) => replace(path, line, "").replace("=======\n\n", "=======\n");
const edit = (action: string, target: string, content = "") => ({
  type: "file_edit",
  action,
  target,
  content,
});
const diff = (name: string, body: string) => `diff --git a/${name} b/${name}\n${body}`;

async function open(answers: readonly (() => string)[]) {
  at = await openConversation((_, turn) => answers[turn]?.() ?? "Nothing more.");
  at.write("a.txt", LINES);
  at.write("gone.txt", "gone\n");
}

const WITHOUT_TWO = LINES.replace("two\n", "");
const patches: readonly [name: string, patch: string, tree: Readonly<Record<string, string>>][] = [
  ["a block", replace("a.txt", "two", "TWO"), { "a.txt": LINES.replace("two", "TWO"), "gone.txt": "gone\n" }],
  [
    "a block that quotes a part of a line",
    replace("a.txt", "(a, b)", "(b, a)"),
    { "a.txt": LINES.replace("a, b", "b, a"), "gone.txt": "gone\n" },
  ],
  ["a block that removes a line", remove("a.txt", "two"), { "a.txt": WITHOUT_TWO, "gone.txt": "gone\n" }],
  [
    "V4A: an update and a removal",
    v4a("*** Update File: a.txt\n@@\n one\n-two\n three\n*** Delete File: gone.txt\n"),
    { "a.txt": WITHOUT_TWO },
  ],
  [
    "V4A: a rename with an edit",
    v4a("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+TWO\n"),
    { "b.txt": LINES.replace("two", "TWO"), "gone.txt": "gone\n" },
  ],
  [
    "a diff that edits, creates, removes and renames",
    [
      diff("a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"),
      diff("n.txt", "new file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+new\n+file\n"),
      "diff --git a/gone.txt b/kept.txt\nsimilarity index 100%\nrename from gone.txt\nrename to kept.txt\n",
    ].join(""),
    { "a.txt": LINES.replace("two", "TWO"), "n.txt": "new\nfile\n", "kept.txt": "gone\n" },
  ],
  [
    "a diff that removes a file",
    diff("gone.txt", "deleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"),
    { "a.txt": LINES },
  ],
  [
    "commands that remove and rename",
    json(edit("delete", "gone.txt"), edit("rename", "a.txt", "b.txt")),
    { "b.txt": LINES },
  ],
];

test.each(patches)("%s, sent again after the user wrote: it lands", async (_, patch, tree) => {
  await open([
    () => {
      void at.send("and keep it short");
      return proposal("Change it", patch);
    },
    () => proposal("Change it", patch),
  ]);
  const reply = await at.send("/code3 change a.txt and gone.txt");
  expect(reply).toMatchObject({ ok: true, jobs: [{ status: "applied", failed_cmds: 0 }] });
  expect(at.tree()).toEqual({ ...tree });
  expect(at.asked).toHaveLength(2);
  expect(at.asked[1]?.messages.at(-1)?.text).toStartWith("Nothing failed.");
});

test("a diff is sent again whole, with the part that failed corrected: it lands in the second attempt", async () => {
  const parts =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -6,2 +6,2 @@\n six\n-seven\n+SEVEN\n";
  await open([
    () => proposal("p", `${replace("a.txt", "two", "TWO")}\n${replace("gone.txt", "not there", "x")}`),
    () => proposal("p", diff("a.txt", parts)),
  ]);
  const reply = await at.send("/code3 change a.txt and gone.txt");
  expect(reply).toMatchObject({ ok: true, jobs: [{ status: "applied" }] });
  expect(at.read("a.txt")).toBe(LINES.replace("two", "TWO").replace("seven", "SEVEN"));
});

test.each([
  ["a path that never existed", json(edit("delete", "never.txt"))],
  ["a rename of a path that never existed", json(edit("rename", "never.txt", "b.txt"))],
  [
    "an edit that the file had before the message",
    replace("a.txt", "six\nsix and a half\nseven", "six\nseven"),
  ],
])("%s stays a failure", async (_, patch) => {
  const steered = () => {
    void at.send("and that as well");
    return proposal("p", replace("a.txt", "two", "TWO"));
  };
  const again = () => proposal("p", patch);
  await open([steered, again, again, again]);
  const reply = await at.send("/code3 change a.txt and gone.txt");
  expect(reply.ok).toBe(false);
  expect(reply.text).toContain("Still failing after 4 attempts");
  expect(at.tree()).toEqual({ "a.txt": LINES, "gone.txt": "gone\n" });
});

test("a line that an attempt changed is not taken for one that it removed", async () => {
  const removes = remove("a.txt", "two");
  await open([
    () => proposal("p", `${replace("a.txt", "two", "2")}\n${replace("gone.txt", "not there", "x")}`),
    () => proposal("p", removes),
    () => proposal("p", removes),
    () => proposal("p", removes),
  ]);
  const reply = await at.send("/code3 change a.txt and gone.txt");
  expect(reply.ok).toBe(false);
  expect(at.read("a.txt")).toBe(LINES);
});

test.if(requirePart("bwrap"))(
  "a file that the coder made and removed again was not changed by others",
  async () => {
    const bad = "```txt:bad\nx\n```";
    at = await openConversation(
      (_, turn) =>
        [
          proposal("Try", `${replace("a.py", "value = 1", "value = 2")}\n\n${bad}`),
          proposal("Clean", "```bash\nrm bad\n```"),
        ][turn] ?? "Nothing more.",
      { config: "checks: { command: 'test ! -e bad' }" },
    );
    at.write("a.py", "value = 1\n");
    const reply = await at.send("/code3 do it");
    expect(reply.ok).toBe(true);
    expect(at.tree()).toEqual({ "a.py": "value = 2\n" });
    expect(at.asked).toHaveLength(2);
  },
);
