/** A command of another source judges where the declared check cannot: real programs, through one conversation. */
import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const MODULE = "export const one = () => 1;\n";
const TEST =
  'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { one } from "../one.mjs";\ntest("one", () => assert.equal(one(), 1));\n';
const BREAK = proposal("Break", replace("one.mjs", MODULE.trim(), "export const one = () => 2;"));
const COMMENT = proposal("Say", replace("one.mjs", MODULE.trim(), `// One.\n${MODULE.trim()}`));

async function open(answer: string, files: Readonly<Record<string, string>>) {
  at = await openConversation(() => answer, { config: "coder: { attempts: 1 }\n" });
  at.write("one.mjs", MODULE);
  for (const [path, text] of Object.entries(files)) at.write(path, text);
}
const first = (text: string) => text.split("\n")[0] ?? "";

/** `npm test` ends before any test: its program requires a package that is not installed. */
const WRAPPED = {
  "package.json": JSON.stringify({
    type: "module",
    scripts: { test: "node Makefile.cjs test", "test:unit": "node --test test/" },
  }),
  "Makefile.cjs": 'require("npm-license");\n',
  "test/one.test.mjs": TEST,
};

describe.if(requirePart("bwrap") && requirePart("node"))(
  "a script beside a wrapper that cannot start",
  () => {
    test("judges a change that breaks a test", async () => {
      await open(BREAK, WRAPPED);
      const reply = await at.send("/code3 change one.mjs");
      expect([first(reply.text), reply.ok]).toEqual([expect.stringContaining("Not applied"), false]);
      expect(at.read("one.mjs")).toBe(MODULE);
    });

    test("is named with its file, and why the declared check did not judge", async () => {
      await open(COMMENT, WRAPPED);
      const reply = await at.send("/code3 comment one.mjs");
      expect(first(reply.text)).toContain("node --test test/ 1 passed");
      expect(reply.text).toContain("node --test test/ judged; it is a script in package.json.");
    });
  },
);

describe.if(requirePart("bwrap") && requirePart("node"))("a command of the request", () => {
  test("judges where nothing else is known, and only as a parsed test runner", async () => {
    await open(BREAK, { "test/one.test.mjs": TEST });
    const reply = await at.send(
      "/code3 change one.mjs, see `touch ran && node --test` and `node --test test/`",
    );
    expect(first(reply.text)).toContain("Not applied");
  });

  test("that shows an exit code alone judges nothing before it is red over broken code", async () => {
    await open(COMMENT, { "check.mjs": "" });
    const reply = await at.send("/code3 comment one.mjs; `node --test check.mjs`");
    expect(first(reply.text)).toContain("NOT CHECKED");
  });
});
