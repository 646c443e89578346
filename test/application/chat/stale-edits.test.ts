/** A file that a coder replaces, removes or renames whole is compared with the one that it was shown. */
import { afterEach, describe, expect, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const TEN = Array.from({ length: 10 }, (_, line) => `line ${line}\n`).join("");
const block = (path: string, text: string) => `\`\`\`txt:${path}\n${text}\`\`\``;
const first = TEN.replace("line 0", "first");
const last = TEN.replace("line 9", "last");

async function open(answers: readonly (() => string)[], config = "") {
  at = await openConversation((_, turn) => answers[turn]?.() ?? "Nothing more.", { config });
  at.write("a.txt", TEN);
}

test("a file that the user saves while the model thinks keeps both changes, and the reply says so", async () => {
  await open([
    () => {
      at.write("a.txt", last);
      return proposal("Change the first line", block("a.txt", first));
    },
  ]);
  const reply = await at.send("/code3 change the first line of a.txt");
  expect(reply.ok).toBe(true);
  expect(at.read("a.txt")).toBe(first.replace("line 9", "last"));
  expect(reply.text).toContain("merged with a change from outside in a.txt");
  expect(at.archive.events(at.archive.list()[0]?.jobId ?? "").map(({ event }) => event)).toContainEqual({
    type: "merged",
    path: "a.txt",
    by: null,
  });
});

test("the same lines are returned with the texts, and the user's save stays until the coder has dealt with it", async () => {
  const saved = TEN.replace("line 0", "the user's");
  await open([
    () => {
      at.write("a.txt", saved);
      return proposal("Change the first line", block("a.txt", first));
    },
    () => {
      expect(at.read("a.txt")).toBe(saved);
      return proposal("Both", replace("a.txt", "the user's", "the user's first"));
    },
  ]);
  const reply = await at.send("/code3 change the first line of a.txt");
  expect(reply.ok).toBe(true);
  const back = at.asked[1]?.messages.at(-1)?.text ?? "";
  expect(back).toContain(
    "a.txt was changed by the user or another program (not a job of PicoClaw) after you were shown it",
  );
  expect(back).toContain('version="as you were shown it">\nline 0\n');
  expect(back).toContain('version="as you would have it">\nfirst\n');
  expect(back).toContain('<file path="a.txt">\nthe user\'s\n');
  expect(at.read("a.txt")).toBe(TEN.replace("line 0", "the user's first"));
});

test("a conflict that the coder does not settle twice is a preview, and the workspace is untouched", async () => {
  let saves = 0;
  const answer = () => {
    at.write("a.txt", TEN.replace("line 0", `save ${++saves}`));
    return proposal("Change the first line", block("a.txt", first));
  };
  await open([answer, answer, answer]);
  const reply = await at.send("/code3 change the first line of a.txt");
  expect(reply.ok).toBe(false);
  expect(reply.text).toStartWith("Preview, nothing applied");
  expect(reply.text).toContain("Others changed the same lines: a.txt");
  expect(at.read("a.txt")).toBe(TEN.replace("line 0", "save 3"));
  expect(at.archive.list()).toMatchObject([{ state: "staged", red: "conflict" }]);
});

test("a draft that must not land over others does not, regardless of coder.on_red", async () => {
  let saves = 0;
  const answer = () => {
    at.write("a.txt", TEN.replace("line 0", `save ${++saves}`));
    return proposal("Change the first line", block("a.txt", first));
  };
  await open([answer, answer, answer], "coder: { on_red: apply }\n");
  expect((await at.send("/code3 change the first line of a.txt")).ok).toBe(false);
  expect(at.read("a.txt")).toBe(TEN.replace("line 0", "save 3"));
});

const json = (...commands: readonly object[]) => `\`\`\`json\n${JSON.stringify(commands)}\n\`\`\``;

test.each([
  ["delete", json({ type: "file_edit", action: "delete", target: "a.txt" })],
  ["rename", json({ type: "file_edit", action: "rename", target: "a.txt", content: "b.txt" })],
])("a %s of a file that was saved meanwhile goes back, and the save stands", async (_, patch) => {
  await open([
    () => {
      at.write("a.txt", last);
      return proposal("Away", patch);
    },
    () => "Then it stays.",
  ]);
  const reply = await at.send("/code3 look at a.txt");
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("a.txt was changed by the user");
  expect(at.tree()).toEqual({ "a.txt": last });
  expect(reply.text).toContain("Then it stays.");
});

const bash = (script: string) => `\`\`\`bash\n${script}\n\`\`\``;

test.each([
  ["writes over", bash("printf 'new\\n' > a.txt")],
  ["removes", bash("rm a.txt")],
  ["moves", bash("mv a.txt b.txt")],
])("a command that %s a file that was saved meanwhile goes back, and the save stands", async (_, patch) => {
  await open([
    () => {
      at.write("a.txt", last);
      return proposal("By a command", patch);
    },
    () => "Then it stays.",
  ]);
  const reply = await at.send("/code3 look at a.txt");
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("a.txt was changed by the user");
  expect(at.read("a.txt")).toBe(last);
  expect(reply.text).not.toContain("Applied");
});

test("a command that changes other lines of a file that was saved meanwhile lands", async () => {
  await open([
    () => {
      at.write("a.txt", last);
      return proposal("By a command", bash("sed -i 's/line 0/first/' a.txt"));
    },
  ]);
  expect((await at.send("/code3 change the first line of a.txt")).ok).toBe(true);
  expect(at.read("a.txt")).toBe(first.replace("line 9", "last"));
});

test("a file that was never shown is not removed by a command when it was saved meanwhile", async () => {
  await open([
    () => {
      at.write("notes.txt", "mine\n");
      return proposal("Tidy up", bash("rm -f notes.txt; echo x > c.txt"));
    },
    () => "Then it stays.",
  ]);
  await at.send("/code3 look at a.txt");
  expect(at.read("notes.txt")).toBe("mine\n");
});

test("a file that was never shown is not removed when it was saved meanwhile", async () => {
  await open([
    () => {
      at.write("unseen.bin", new Uint8Array([0, 1, 2]));
      return proposal("Away", json({ type: "file_edit", action: "delete", target: "unseen.bin" }));
    },
    () => "Then it stays.",
  ]);
  at.write("unseen.bin", new Uint8Array([0, 1]));
  // The file is older than the message.
  await Bun.sleep(60);
  await at.send("/code3 do something");
  expect([...Buffer.from(at.read("unseen.bin"))]).toEqual([0, 1, 2]);
});

test("a removed file does not come back by a block", async () => {
  await open([
    () => {
      rmSync(join(at.workspace, "a.txt"));
      return proposal("Change the first line", block("a.txt", first));
    },
    () => "Then not.",
  ]);
  await at.send("/code3 change the first line of a.txt");
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("a.txt was removed by the user");
  expect(at.tree()).toEqual({});
});

test("a block does not recreate a file that another job renamed, and the coder learns its new path", async () => {
  const rename = json({ type: "file_edit", action: "rename", target: "a.txt", content: "b.txt" });
  at = await openConversation(async ({ messages }, turn) => {
    if (messages[0]?.text.includes("Rename it")) return proposal("Rename", rename);
    if (turn > 1) return "Then not.";
    expect((await at.send("/code3 Rename it: a.txt", { chatId: "other" })).ok).toBe(true);
    return proposal("Change", block("a.txt", first));
  });
  at.write("a.txt", TEN);
  await at.send("/code3 change the first line of a.txt");
  const [{ jobId = "" } = {}] = at.archive.list();
  expect(at.asked[2]?.messages.at(-1)?.text).toContain(`a.txt was renamed to b.txt by job ${jobId}`);
  expect(at.tree()).toEqual({ "b.txt": TEN });
});

test("a deleted file and an edit of another job: the deletion is returned and names the job", async () => {
  at = await openConversation(async ({ messages }, turn) => {
    if (messages[0]?.text.includes("Edit it")) return proposal("Edit", replace("a.txt", "line 9", "last"));
    if (turn > 1) return "Then it stays.";
    expect((await at.send("/code3 Edit it: a.txt", { chatId: "other" })).ok).toBe(true);
    return proposal("Away", json({ type: "file_edit", action: "delete", target: "a.txt" }));
  });
  at.write("a.txt", TEN);
  await at.send("/code3 delete a.txt");
  const [{ jobId = "" } = {}] = at.archive.list();
  expect(at.asked[2]?.messages.at(-1)?.text).toContain(`a.txt was changed by job ${jobId}`);
  expect(at.tree()).toEqual({ "a.txt": last });
});

test("a message that arrives while a green draft waits does not drop it", async () => {
  await open([
    () => {
      void at.send("is it going well?");
      return proposal("Change the first line", block("a.txt", first));
    },
    () => "Yes, it is nearly done.",
  ]);
  const reply = await at.send("/code3 change the first line of a.txt");
  expect(reply).toMatchObject({ ok: true, jobs: [{ status: "applied" }] });
  expect(reply.text).toContain("Yes, it is nearly done.");
  expect(at.read("a.txt")).toBe(first);
});

test.each([
  ["fails", { fails: "bad-request" } as const],
  ["writes half a patch", "*** Begin Patch\n*** Update File: a.txt\n@@ nothing"],
  ["asks for files without end", 'NEEDS_FILES: ["nothing.txt"]'],
])("a model that %s when it is steered does not drop a green draft", async (_, then) => {
  at = await openConversation(
    (_, turn) => {
      if (turn > 0) return then;
      void at.send("is it going well?");
      return proposal("Change the first line", block("a.txt", first));
    },
    { config: "coder: { attempts: 2 }\n" },
  );
  at.write("a.txt", TEN);
  await at.send("/code3 change the first line of a.txt");
  expect(at.read("a.txt")).toBe(first);
});

describe("a save that the coder replaces after it was shown it", () => {
  const saved = TEN.replace("line 0", "the user's");
  const saves = () => {
    at.write("a.txt", saved);
    return proposal("Change the first line", block("a.txt", first));
  };
  const secondLine = (text: string) => text.split("\n")[1] ?? "";
  const named =
    /^While the coder worked, others changed a\.txt; the coder saw those changes and replaced them\. To undo it: \/undo #(\d+)$/;

  test("is named in the second line, with the undo that brings it back", async () => {
    await open([saves, () => proposal("Mine", block("a.txt", first))]);
    const reply = await at.send("/code3 change the first line of a.txt");
    expect(reply.text).toStartWith("Applied: 1 file");
    expect(at.read("a.txt")).toBe(first);
    const [, number] = named.exec(secondLine(reply.text)) ?? [];
    expect(Number(number)).toBe(at.archive.list()[0]?.number as number);
    expect(reply.text.match(/saw those changes and replaced/g)).toHaveLength(1);
    await at.send("/undo");
    expect(at.read("a.txt")).toBe(saved);
  });

  test("by a deletion or by an edit, and where the coder asked for the file itself", async () => {
    const gone = json({ type: "file_edit", action: "delete", target: "a.txt" });
    await open([saves, () => proposal("Away", gone)]);
    expect(secondLine((await at.send("/code3 change the first line of a.txt")).text)).toMatch(named);
    await at.close();
    const asks = () => {
      at.write("a.txt", saved);
      return "## Files\n- a.txt";
    };
    await open([asks, () => proposal("Mine", replace("a.txt", "the user's", "first"))]);
    const reply = await at.send("/code3 change the first line of a.txt");
    expect([at.read("a.txt"), secondLine(reply.text)]).toEqual([first, expect.stringMatching(named)]);
  });

  test("is named too where it made a file that the coder had not been shown", async () => {
    const saveNew = () => {
      // The kernel's clock for files runs a few milliseconds behind.
      const begun = Date.now();
      do at.write("new.txt", "the user's own\n");
      while (statSync(join(at.workspace, "new.txt")).ctimeMs <= begun);
      return proposal("A new file", block("new.txt", "the coder's\n"));
    };
    await open([saveNew, () => proposal("Mine", block("new.txt", "the coder's\n"))]);
    const reply = await at.send("/code3 write new.txt");
    expect(at.read("new.txt")).toBe("the coder's\n");
    expect(secondLine(reply.text)).toMatch(new RegExp(named.source.replace("a\\.txt", "new\\.txt")));
    await at.send("/undo");
    expect(at.read("new.txt")).toBe("the user's own\n");
  });

  test("is not spoken of where its lines are kept", async () => {
    await open([saves, () => proposal("Both", replace("a.txt", "line 9", "last"))]);
    const reply = await at.send("/code3 change the first line of a.txt");
    expect(at.read("a.txt")).toBe(saved.replace("line 9", "last"));
    expect(reply.text).not.toContain("saw those changes and replaced");
  });
});
