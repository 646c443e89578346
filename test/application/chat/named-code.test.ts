/** A patch is compared with the code that its message names, before it lands. */
import { afterEach, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const CODE = `export function withBase(input, base) {
  return base + input;
}

export function withoutBase(input, base) {
  return input.slice(base.length);
}
`;
const MESSAGE = "/code3 withBase adds the base twice. withoutBase has the same problem.";
const first = replace("src/url.js", "  return base + input;", "  return join(base, input);");
const second = replace("src/url.js", "  return input.slice(base.length);", "  return cut(input, base);");
const emptied =
  "## Plan\nwithoutBase is right: it has its own guard.\n## Patch\n## Risk\nlow\n## Cost\nsmall";

async function talk(answers: readonly string[], { text = MESSAGE, locale = "en" as "en" | "ja" } = {}) {
  at = await openConversation((_, turn) => answers[turn] ?? "nothing more", { locale });
  at.write("src/url.js", CODE);
  return at.send(text);
}

test("named code that the patch left alone is asked about once, and what follows lands with it", async () => {
  const reply = await talk([proposal("Join.", first), proposal("And cut.", second)]);
  expect(at.asked).toHaveLength(2);
  expect(at.asked[1]?.messages.at(-1)?.text).toBe(
    "Nothing failed; the change is in a draft. You did not touch `withoutBase`, which the message names. Change it as well, or say why not, in one line for each: `No change: NAME: reason`. Answer with the remaining changes, or with those lines alone.",
  );
  expect(at.events.filter(({ type }) => type === "notice")).toMatchObject([
    {
      text: "Nothing failed, but withoutBase, which the message names, was not changed. Asking the coder…",
    },
  ]);
  expect(at.read("src/url.js")).toContain("cut(input, base)");
  expect(reply.ok).toBe(true);
  expect(reply.jobs).toHaveLength(1);
  expect(reply.text).not.toContain("Named in the message");
});

test.each([
  ["an empty patch", emptied],
  ["plain words", "withoutBase is right: it has its own guard."],
  ["the same patch again", proposal("withoutBase is right: it has its own guard.", first)],
])("a coder that stays with it by %s lands, and the reply has the line", async (_, answer) => {
  const reply = await talk([proposal("Join.", first), answer]);
  expect(at.asked).toHaveLength(2);
  expect(at.read("src/url.js")).toBe(CODE.replace("base + input", "join(base, input)"));
  expect(reply.ok).toBe(true);
  expect(reply.text).toStartWith("Applied: 1 file");
  expect(reply.text).toContain("Named in the message and not changed: withoutBase");
  expect(reply.text).toContain("withoutBase is right: it has its own guard.");
});

test("without an answer to that question the change is kept", async () => {
  const down = { fails: "unreachable" } as const;
  at = await openConversation((_, turn) => (turn === 0 ? proposal("Join.", first) : down));
  at.write("src/url.js", CODE);
  const reply = await at.send(MESSAGE);
  expect(reply.ok).toBe(true);
  expect(at.read("src/url.js")).toContain("join(base, input)");
  expect(reply.text).toContain("Named in the message and not changed: withoutBase");
});

test.each([
  ["the plan leaves it alone", MESSAGE, proposal("No change: withoutBase: it has its own guard.", first)],
  ["it is only cited", "/code3 withBase adds it twice, unlike withoutBase.", proposal("Join.", first)],
  ["both were changed", MESSAGE, proposal("Both.", `${first}\n${second}`)],
])("nothing is asked where %s", async (_, text, answer) => {
  const reply = await talk([answer], { text });
  expect(at.asked).toHaveLength(1);
  expect(reply.ok).toBe(true);
  expect(reply.text).not.toContain("Named in the message");
});

test.each([MESSAGE, "/code3 fix withBase and withoutBase in src/url.js"])(
  "a reason for one name does not excuse a missing patch of another: %s",
  async (text) => {
    const claim = "I fixed withBase.\nNo change: `withoutBase`: it has its own guard.";
    const reply = await talk([claim, claim], { text });
    expect(at.asked).toHaveLength(2);
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("Nothing was changed: the coder's answer has neither a patch");
  },
);

test("reasons for all names together say that nothing has to change", async () => {
  const both = "No change: withBase: it is right.\nNo change: withoutBase: it has its own guard.";
  const reply = await talk([both], { text: "/code3 fix withBase and withoutBase in src/url.js" });
  expect(at.asked).toHaveLength(1);
  expect(reply.ok).toBe(true);
});

test("a reason beside a patch keeps its label, and is of whole names only", async () => {
  const plan = "Join.\nNo change: withoutBaseUrl: not needed any more";
  const reply = await talk([proposal(plan, first), emptied]);
  expect(at.asked).toHaveLength(2);
  expect(reply.text).toContain("No change: withoutBaseUrl: not needed any more");
});

test.if(requirePart("bwrap"))("where checks are red anyway, it is asked in the same reply", async () => {
  const config = "checks: { command: '! grep -q join src/url.js || grep -q cut src/url.js' }\n";
  const answers = [proposal("Join.", first), proposal("And cut.", second)];
  at = await openConversation((_, turn) => answers[turn] ?? "nothing more", { config });
  at.write("src/url.js", CODE);
  const reply = await at.send(MESSAGE);
  const back = at.asked[1]?.messages.at(-1)?.text ?? "";
  expect(back).toStartWith("Attempt 1 of 4 ran in a draft");
  expect(back).toContain("\n\nYou did not touch `withoutBase`, which the message names.");
  expect(at.asked).toHaveLength(2);
  expect(reply.ok).toBe(true);
});

test("in Japanese too", async () => {
  const text = "/code3 withBase が二重に付けます。withoutBase も同じ問題があります。";
  const reply = await talk([proposal("直します。", first), emptied], { text, locale: "ja" });
  expect(at.asked).toHaveLength(2);
  expect(reply.text).toContain("メッセージで名前が挙がり、変更していないもの: withoutBase");
});
