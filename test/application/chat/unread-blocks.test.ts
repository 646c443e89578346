import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const NAMES = ["a", "b", "c"];
const edits = Object.fromEntries(
  NAMES.map((name) => [name, replace(`${name}.txt`, name, name.toUpperCase())]),
);
const broken = replace("b.txt", "b", "B").replace("=======", "====== x");
const FIRST = proposal("Capitals.", [edits.a, broken, edits.c].join("\n\n"));

async function send(...answers: readonly string[]) {
  at = await openConversation((_, turn) => answers[turn] ?? proposal("p", ""), {});
  for (const name of NAMES) at.write(`${name}.txt`, `${name}\n`);
  const reply = await at.send("/code3 capitals in a.txt, b.txt and c.txt");
  return { reply, files: NAMES.map((name) => at.read(`${name}.txt`).trim()).join("") };
}

test.each<[string, string]>([
  ["alone", proposal("Capitals.", edits.b ?? "")],
  ["without headings", edits.b ?? ""],
  ["with all the others again", proposal("Capitals.", [edits.a, edits.b, edits.c].join("\n\n"))],
])(
  "a block that cannot be read is asked for by its number and its wrong line, and may come %s",
  async (_, again) => {
    const { reply, files } = await send(FIRST, again);
    expect([reply.ok, files, at.asked.length]).toEqual([true, "ABC", 2]);
    const back = at.asked[1]?.messages.at(-1)?.text ?? "";
    expect(back).toContain("Of 3 blocks of your patch, 1 could not be read:\nBlock 2 (line ");
    expect(back).toMatch(/Block 2 \(line 12 of the patch, b\.txt\): .*; line 14 is wrong: `====== x`/);
    expect(back).toContain("Send only these blocks again");
    expect(reply.jobs?.[0]?.results).toHaveLength(3);
  },
);

test("an empty patch leaves the unreadable block out, and the others are run", async () => {
  const { reply, files } = await send(FIRST, proposal("p", ""));
  expect([reply.ok, files]).toEqual([true, "AbC"]);
});

test("a block that is broken again is asked for again, and nothing of the patch is lost meanwhile", async () => {
  const other = replace("b.txt", "b", "B").replace(">>>>>>> REPLACE", ">>>> REPLACE");
  const { reply, files } = await send(FIRST, proposal("p", other), proposal("p", edits.b ?? ""));
  expect(at.asked[2]?.messages.at(-1)?.text).toContain("is wrong: `>>>> REPLACE`");
  expect([reply.ok, files]).toEqual([true, "ABC"]);
});

test("a patch that is one unreadable block is asked for whole, with its wrong line", async () => {
  const { files } = await send(proposal("p", broken), proposal("p", edits.b ?? ""));
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("line 5 is wrong: `====== x`");
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("Send the whole proposal again");
  expect(files).toBe("aBc");
});
