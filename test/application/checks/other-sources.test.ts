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

describe.if(requirePart("bwrap") && requirePart("node"))("a command that judged once", () => {
  const AGAIN = proposal("Say", replace("one.mjs", "// One.", "// Two."));
  const first = (text: string) => text.split("\n")[0] ?? "";

  test("is used first the next time, and forgotten when a file that decides changes", async () => {
    let answer = COMMENT;
    at = await openConversation(() => answer, { config: "coder: { attempts: 1 }\n" });
    for (const [path, text] of Object.entries({ ...WRAPPED, "one.mjs": MODULE })) at.write(path, text);
    expect(first((await at.send("/code3 comment one.mjs")).text)).toContain("node --test test/ 1 passed");
    // The declared check works now, and nobody asks it.
    at.write("Makefile.cjs", "");
    answer = AGAIN;
    const again = await at.send("/code3 comment one.mjs");
    expect(again.text).toContain("node --test test/ judged; it is a script in package.json.");
    at.write("package.json", WRAPPED["package.json"].replace("node Makefile.cjs test", "node --test"));
    answer = proposal("Say", replace("one.mjs", "// Two.", "// Three."));
    const changed = await at.send("/code3 comment one.mjs");
    expect(first(changed.text)).toContain("npm test 1 passed");
    expect(changed.text).not.toContain("judged; it is");
  });
});

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

describe.if(requirePart("bwrap") && requirePart("node"))("a command that the coder ran", () => {
  const WITH_CLOUD = "security:\n  local_only: false\ncoder: { attempts: 1 }\n";
  const STUCK = { "package.json": JSON.stringify({ type: "module", scripts: { test: "node wait.mjs" } }) };

  async function openWithRun(command: string, answer: string) {
    at = await openConversation(
      (_, turn) => (turn === 0 ? { calls: [{ name: "run", arguments: { command } }] } : answer),
      { local: false, config: WITH_CLOUD },
    );
    at.write("one.mjs", MODULE);
    at.write("test/one.test.mjs", TEST);
    at.write("wait.mjs", 'import "not-installed";\n');
    for (const [path, text] of Object.entries(STUCK)) at.write(path, text);
  }

  test("is run again over the old code and the draft, without what stood around it", async () => {
    const command =
      "echo made > made.txt; sed -n 1p one.mjs && timeout 60 node --test test/one.test.mjs 2>&1 | tail -5";
    await openWithRun(command, BREAK);
    const reply = await at.send("/code3 change one.mjs");
    expect([first(reply.text), reply.ok]).toEqual([expect.stringContaining("Not applied"), false]);
    expect(Object.keys(at.tree())).not.toContain("made.txt");
  });

  test("judges a right change, and its own output counts for nothing", async () => {
    await openWithRun("node --test test/one.test.mjs", COMMENT);
    const reply = await at.send("/code3 comment one.mjs");
    expect(first(reply.text)).toContain("node --test test/one.test.mjs 1 passed");
    await at.close();
    await openWithRun("echo '# tests 9'; echo '# pass 9'", COMMENT);
    expect(first((await at.send("/code3 comment one.mjs")).text)).toContain("NOT CHECKED");
  });
});

describe.if(requirePart("bwrap") && requirePart("node"))("a change that nothing judged", () => {
  const CONFIG = "security:\n  local_only: false\ncoder: { attempts: 3 }\n";
  const CHECK = "## Check\n`node --test test/one.test.mjs`";

  async function open(...answers: readonly string[]) {
    at = await openConversation((_, turn) => answers[turn] ?? proposal("p", ""), {
      local: false,
      config: CONFIG,
    });
    at.write("package.json", JSON.stringify({ type: "module", scripts: { test: "node wait.mjs" } }));
    at.write("wait.mjs", 'import "not-installed";\n');
    at.write("one.mjs", MODULE);
    at.write("test/one.test.mjs", TEST);
    return at.send("/code3 change one.mjs");
  }

  test("is judged by the command that the coder is asked for, once", async () => {
    const reply = await open(BREAK, CHECK, proposal("p", ""));
    expect(at.asked[1]?.messages.at(-1)?.text).toStartWith(
      "Attempt 1 of 3 ran in a draft; nothing has landed yet.\n\nNothing failed, and nothing judged",
    );
    expect(at.asked[1]?.messages.at(-1)?.text).toContain("alone in a section ## Check");
    expect(at.asked[2]?.messages.at(-1)?.text).toContain("judged with what you declared or proposed");
    expect([reply.ok, at.read("one.mjs")]).toEqual([false, MODULE]);
    await at.close();
    const right = await open(COMMENT, CHECK);
    expect(first(right.text)).toContain("node --test test/one.test.mjs (the coder's own check) 1 passed");
    expect([right.ok, at.asked.length]).toEqual([true, 2]);
  });

  test("lands unjudged where the coder knows no such command, and it is not asked again", async () => {
    const reply = await open(COMMENT, "No change: there is none");
    expect(first(reply.text)).toContain("NOT CHECKED");
    expect([reply.ok, at.asked.length]).toEqual([true, 2]);
  });
});

test.if(requirePart("bwrap") && requirePart("node"))(
  "a service that red tests call and that does not answer is named",
  async () => {
    const CALLS =
      'import { connect } from "node:net";\nimport { test } from "node:test";\ntest("asks", (_, done) => { connect(5432, "127.0.0.1").once("error", done).once("connect", () => done()); });\n';
    await open(COMMENT, { "test/one.test.mjs": TEST, "test/db.test.mjs": CALLS, "package.json": NODE_TESTS });
    const reply = await at.send("/code3 comment one.mjs");
    expect(reply.text).toContain(
      "services that the tests call: PostgreSQL (port 5432). Checks have no network.",
    );
  },
);

const NODE_TESTS = JSON.stringify({ type: "module", scripts: { test: "node --test" } });
