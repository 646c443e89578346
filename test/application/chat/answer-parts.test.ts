/** No part of a coder's answer is lost: it is carried out, sent back to the coder, or reported. */

import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const fence = (info: string, body: string) => `\`\`\`${info}\n${body}\`\`\``;
const UTIL = "def double(value):\n    return 2 * value\n";
const BESIDE = `**src/util.py**\n${fence("python", UTIL)}`;
const V4A = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-value = 1\n+value = 2\n*** End Patch";

/** Its tries cost money: an answer that repeats itself is the end. */
const CLOUD_CODER = { local: (role: string) => !role.startsWith("coder") };

async function answers(...said: readonly string[]) {
  at = await openConversation((_, turn) => said[turn] ?? proposal("No change: done", ""), CLOUD_CODER);
  at.write("src/app.py", "value = 1\n");
}

describe("a whole file under a path line lands with the rest", () => {
  const ways: readonly (readonly [string, string])[] = [
    ["SEARCH/REPLACE", `${replace("src/app.py", "value = 1", "value = 2")}\n\n${BESIDE}`],
    ["V4A", `${V4A}\n\n${BESIDE}`],
    ["Markdown", `${fence("python:src/app.py", "value = 2\n")}\n\n${BESIDE}`],
    ["a diff", `--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-value = 1\n+value = 2\n\n${BESIDE}`],
    ["a command", `${BESIDE}\n\n${fence("bash", "echo value = 2 > src/app.py\n")}`],
  ];
  test.each(ways)("beside %s", async (_, patch) => {
    await answers(proposal("Double it; all tests pass now.", patch));
    const reply = await at.send("/code3 double the value");
    expect(at.read("src/util.py")).toBe(UTIL);
    expect(at.read("src/app.py")).toBe("value = 2\n");
    expect(reply.ok).toBe(true);
    expect(at.asked).toHaveLength(1);
  });

  test.each([
    "src/util.py",
    "`src/util.py`",
    "### src/util.py",
    "`src/util.py`:",
    "File: src/util.py",
    "1. **`src/util.py`**:\n",
  ])("named by the line %j", async (line) => {
    await answers(proposal("Add it", `${line}\n${fence("python", UTIL)}`));
    await at.send("/code3 add double");
    expect(at.read("src/util.py")).toBe(UTIL);
  });
});

describe("over a file that exists, a block under a path line counts only if it is whole", () => {
  const whole = "import os\n\nLIMIT = 3\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n";
  const replaced = whole.replace("return 2", "return 22");
  const under = (body: string) => `src/lib.py\n${fence("python", body)}`;

  async function ask(request: string, ...patches: readonly string[]) {
    at = await openConversation(
      (_, turn) =>
        patches[turn] === undefined ? proposal("No change: done", "") : proposal("Change two", patches[turn]),
      CLOUD_CODER,
    );
    at.write("src/lib.py", whole);
    return at.send(`/code3 ${request} in src/lib.py`);
  }

  test("the whole file lands at once", async () => {
    await ask("change two", under(replaced));
    expect(at.read("src/lib.py")).toBe(replaced);
    expect(at.asked).toHaveLength(1);
  });

  const parts: readonly (readonly [string, string])[] = [
    ["drops a function", "def two():\n    return 22\n"],
    ["drops a constant", whole.replace("LIMIT = 3\n\n", "")],
    ["ends in the middle", `${whole}\ndef three(\n`],
    ["is indented", "    return 22\n"],
  ];
  test.each(parts)(
    "one that %s goes back and is never written, also when it is repeated",
    async (_, part) => {
      const reply = await ask("change it", under(part), under(part));
      expect(at.read("src/lib.py")).toBe(whole);
      expect(at.asked[1]?.messages.at(-1)?.text).toContain("src/lib.py: is your block the whole file");
      expect(reply.ok).toBe(false);
      expect(reply.text).toContain("is not the whole file");
    },
  );

  test("after it went back, an edit lands", async () => {
    await ask(
      "change it",
      under("def two():\n    return 22\n"),
      replace("src/lib.py", "return 2", "return 22"),
    );
    expect(at.read("src/lib.py")).toBe(replaced);
  });

  test("a name that the request names may go", async () => {
    const without = whole.replace("def one():\n    return 1\n\n", "");
    await ask("remove one()", under(without));
    expect(at.read("src/lib.py")).toBe(without);
  });

  test("two blocks under one path are not two whole files", async () => {
    at = await openConversation(() =>
      proposal(
        "Add",
        `new.py\n${fence("python", "def a():\n    pass\n")}\nnew.py\n${fence("python", "def b():\n    pass\n")}`,
      ),
    );
    const reply = await at.send("/code3 add them");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("new.py");
  });
});

describe("a line above a block that is no path makes no file", () => {
  test.each([
    "Create src/b.py:",
    "**Update src/app.py**",
    "### Change src/b.py",
    "src/app.py:from app.py",
    "新規作成：src/b.py",
  ])("%s", async (line) => {
    const patch = `${replace("src/app.py", "value = 1", "value = 2")}\n\n${line}\n${fence("python", UTIL)}`;
    await answers(proposal("Do it", patch), proposal("And", fence("python:src/b.py", UTIL)));
    await at.send("/code3 do it");
    expect(at.asked[1]?.messages.at(-1)?.text).toContain("```python def double(value):");
    expect(Object.keys(at.tree()).toSorted()).toEqual(["src/app.py", "src/b.py"]);
  });

  test("a quoted path with spaces makes one", async () => {
    await answers(proposal("Do it", `\`my docs/the file.py\`\n${fence("python", UTIL)}`));
    await at.send("/code3 do it");
    expect(at.read("my docs/the file.py")).toBe(UTIL);
    expect(at.asked).toHaveLength(1);
  });

  test.each(["bin/deploy", "`bin/deploy`"])(
    "%s above a script with an interpreter is a file and never runs",
    async (line) => {
      const script = "#!/bin/sh\ntouch ran.txt\n";
      await answers(proposal("Do it", `${line}\n${fence("bash", script)}`));
      await at.send("/code3 do it");
      expect(at.tree()).toEqual({ "bin/deploy": script, "src/app.py": "value = 1\n" });
    },
  );
});

describe("an answer in words", () => {
  const words = `You can add a file:\n\n**config.yaml**\n${fence("yaml", "a: 1\n")}\n\nand run it:\n\n${fence("bash", "touch ran.txt\n")}`;

  test.each([words, `One would write:\n${fence("python", `# calc.py\n${UTIL}`)}`])(
    "whose examples have a path changes nothing and stays the reply",
    async (text) => {
      await answers(text, "No change: it was a question");
      const reply = await at.send("/code3 how do I configure it?");
      expect(at.tree()).toEqual({ "src/app.py": "value = 1\n" });
      expect(reply.text).toContain(text.split("\n", 1)[0] as string);
      expect(at.asked[1]?.messages.at(-1)?.text).toContain("may be examples");
    },
  );

  test("that is sent again is the change", async () => {
    await answers(words, words);
    const reply = await at.send("/code3 configure it");
    expect(at.read("config.yaml")).toBe("a: 1\n");
    expect(reply.ok).toBe(true);
    expect(at.asked).toHaveLength(2);
  });
});

describe("a file outside of the section of the patch", () => {
  const patch = replace("src/app.py", "value = 1", "value = 2");
  const there = `tests/test_app.py\n${fence("python", UTIL)}`;

  test.each([
    ["below it", `${proposal("Do it", patch)}\n\n## Tests\n${there}`],
    ["in the plan", proposal(`Do it\n\n${there}`, patch)],
    ["before the plan", `${there}\n\n${proposal("Do it", patch)}`],
  ])("%s goes back once and is reported", async (_, answer) => {
    await answers(answer, proposal("No", ""));
    const reply = await at.send("/code3 do it");
    expect(at.asked[1]?.messages.at(-1)?.text).toContain("tests/test_app.py (a file outside of ## Patch)");
    expect(reply.text).toContain("not carried out:\n  tests/test_app.py");
    expect(at.read("src/app.py")).toBe("value = 2\n");
  });

  test("that the patch touches is an excerpt", async () => {
    await answers(proposal(`Change\n\nsrc/app.py\n${fence("python", "value = 1\n")}`, patch));
    await at.send("/code3 do it");
    expect(at.asked).toHaveLength(1);
  });
});

describe("a block ends where it ends", () => {
  test("a fence that is never closed does not take the sections behind the patch", async () => {
    await answers(`## Plan\nx\n## Patch\nsrc/b.py\n\`\`\`python\n${UTIL}\n## Risk\nlow\n## Cost\n1 minute\n`);
    await at.send("/code3 do it");
    expect(at.read("src/b.py").trim()).toBe(UTIL.trim());
  });

  const inner = `${fence("", "pip install calc\n")}\n\nconfig.py\n${fence("", "x = 1\n")}`;
  const readme = `# Calc\n\n${inner}\n\nEnd.\n`;
  const whole = `\`\`\`\`md:README.md\n${readme}\`\`\`\``;

  test.each([`README.md\n${fence("markdown", readme)}`, fence("md:README.md", readme)])(
    "half of a Markdown file whose fence an inner one ends is not written",
    async (cut) => {
      await answers(proposal("Document it", cut), proposal("Document it", whole));
      await at.send("/code3 document it");
      expect(at.asked[1]?.messages.at(-1)?.text).toContain("````LANGUAGE:README.md");
      expect(at.tree()).toEqual({ "README.md": readme, "src/app.py": "value = 1\n" });
    },
  );

  test("a Markdown file in front of a block without a language is whole", async () => {
    await answers(proposal("Do", `${fence("md:README.md", "# Calc\n")}\nsrc/b.txt\n${fence("", "b\n")}`));
    await at.send("/code3 do it");
    expect(at.tree()).toEqual({ "README.md": "# Calc\n", "src/app.py": "value = 1\n", "src/b.txt": "b\n" });
  });

  test("a Markdown file in front of an edit in a fence without a language is whole", async () => {
    const edit = replace("src/app.py", "value = 1", "value = 2");
    await answers(proposal("Do", `${fence("md:README.md", "# Calc\n")}\nThen the code:\n${edit}`));
    await at.send("/code3 do it");
    expect(at.tree()).toEqual({ "README.md": "# Calc\n", "src/app.py": "value = 2\n" });
    expect(at.asked).toHaveLength(1);
  });

  test("a here-document with fences is whole, and what it shows is not run", async () => {
    const text = `# R\n\n${fence("python", "x = 1\n")}\n\n${fence("bash", "touch ran.txt\n")}\n\n${fence("", "x\n")}\n`;
    await answers(
      proposal("Do", `${fence("bash", `cat > README.md <<'EOF'\n${text}EOF\n`)}\nThen it is there.`),
    );
    await at.send("/code3 do it");
    expect(at.tree()).toEqual({ "README.md": text, "src/app.py": "value = 1\n" });
    expect(at.asked).toHaveLength(1);
  });

  test("two blocks of one file in fences that name it are not two whole files", async () => {
    const [one, two] = ["def a():\n    pass\n", "def b():\n    pass\n"];
    const patch = `${fence("python:b.py", one)}\n${fence("python:b.py", two)}`;
    await answers(proposal("Add", patch), proposal("Add", fence("python:b.py", `${one}${two}`)));
    await at.send("/code3 add them");
    expect(at.read("b.py")).toBe(`${one}${two}`);
  });
});

describe("a mark of an edit never becomes a line of a file", () => {
  test.each(["<<<<<<< src/lib.py", ">>>>>>> REPLACE", "======="])("%s", async (mark) => {
    const patch = fence("python:src/new.py", `value_of_the_limit = 1\n${mark}\nvalue = 2\n`);
    await answers(proposal("Add", patch), proposal("Add", patch));
    const reply = await at.send("/code3 add it");
    expect(at.tree()).toEqual({ "src/app.py": "value = 1\n" });
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain(mark);
  });

  test.each(["<<<<<<< SEARCH", ">>>>>>> REPLACE", "======="])(
    "%s in a fence of a Markdown file is an example",
    async (mark) => {
      const text = `# How to edit\n\n\`\`\`\nsrc/app.py\n${mark}\n\`\`\`\n\nEnd.\n`;
      await answers(proposal("Add", `\`\`\`\`md:docs/edit.md\n${text}\`\`\`\``));
      await at.send("/code3 add it");
      expect(at.read("docs/edit.md")).toBe(text);
      expect(at.asked).toHaveLength(1);
    },
  );

  test("equals signs that underline a title are text", async () => {
    await answers(proposal("Add", fence("rst:a.rst", "Install\n=======\n\nText.\n")));
    await at.send("/code3 add it");
    expect(at.read("a.rst")).toContain("=======");
  });
});

describe("a part that nothing carries out", () => {
  const extra = fence("python", "def lost(value):\n    return value\n");
  const patch = `${replace("src/app.py", "value = 1", "value = 2")}\n\n${extra}`;
  const line = "```python def lost(value):";

  test("goes back once; a whole file then lands with the rest, and nothing is reported", async () => {
    await answers(
      proposal("Do it", patch),
      proposal("And that", fence("python:src/lost.py", "def lost(value):\n    return value\n")),
    );
    const reply = await at.send("/code3 do it");
    expect(at.asked).toHaveLength(2);
    expect(at.asked[1]?.messages.at(-1)?.text).toContain(line);
    expect(at.read("src/lost.py")).toContain("def lost");
    expect(at.read("src/app.py")).toBe("value = 2\n");
    expect(reply.text).not.toContain("not carried out");
  });

  test("is in the reply, the result, the job and its journal if the coder leaves it at that", async () => {
    await answers(proposal("Do it", patch), proposal("Only an example.", ""));
    const reply = await at.send("/code3 do it");
    expect(at.read("src/app.py")).toBe("value = 2\n");
    expect(reply.text).toContain(`1 part of the coder's answer was not carried out:\n  ${line}`);
    const [job] = reply.jobs ?? [];
    expect(JSON.stringify(job)).toContain("def lost(value):");
    const stored = at.archive.read(job?.job_id ?? "");
    expect(JSON.stringify(stored)).toContain("answer-skipped");
    const events = at.archive.events(job?.job_id ?? "").map(({ event }) => event);
    expect(events).toContainEqual({ type: "answer_skipped", attempt: 1, parts: [line] });
  });

  test("is in a Japanese reply in Japanese", async () => {
    at = await openConversation(
      (_, turn) => (turn === 0 ? proposal("直します", patch) : proposal("例です", "")),
      { locale: "ja" },
    );
    at.write("src/app.py", "value = 1\n");
    const reply = await at.send("/code3 do it");
    expect(reply.text).toContain(`次の 1 か所は実行していません:\n  ${line}`);
  });

  test("is reported without a job if the rest changes nothing", async () => {
    await answers(
      ...Array.from({ length: 4 }, () =>
        proposal("All tests pass now.", `${fence("console", "ok\n")}\n${extra}`),
      ),
    );
    const reply = await at.send("/code3 do it");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("def lost(value):");
  });
});

describe("a sentence of the coder about results", () => {
  const claim = "Doubled; all tests pass now.";
  const patch = replace("src/app.py", "value = 1", "value = 2");

  test("is marked as its own words where no check judged", async () => {
    await answers(proposal(claim, patch));
    const reply = await at.send("/code3 double it");
    expect(reply.text).toContain(`[Plan] the coder's own words, not a result\n${claim}`);
  });

  test("is marked in Japanese in a Japanese reply", async () => {
    at = await openConversation(() => proposal(claim, patch), { locale: "ja" });
    at.write("src/app.py", "value = 1\n");
    const reply = await at.send("/code3 double it");
    expect(reply.text).toContain(`【Plan】コーダー自身の言葉です（結果ではありません）\n${claim}`);
  });

  test.if(requirePart("bwrap"))("is marked where the verdict is worse, also its last words", async () => {
    at = await openConversation(
      (_, turn) => (turn === 0 ? proposal(claim, patch) : proposal("The tests pass.", "")),
      {
        config: "checks: { command: 'grep -q 1 src/app.py' }",
      },
    );
    at.write("src/app.py", "value = 1\n");
    const reply = await at.send("/code3 double it");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("[Plan] the coder's own words, not a result\n");
    expect(reply.text).toContain("The coder's own words, not a result:\nThe tests pass.");
  });

  test("is marked where it is the reason for no change", async () => {
    await answers("It is doubled.", "No change: I ran the tests, 42 passed");
    const reply = await at.send("/code3 double it");
    expect(reply.text).toContain("Nothing was changed. The coder's words: I ran the tests, 42 passed");
  });

  test.if(requirePart("bwrap"))("is the plan where the checks are green", async () => {
    at = await openConversation(() => proposal(claim, patch), {
      config: "checks: { command: 'grep -q value src/app.py' }",
    });
    at.write("src/app.py", "value = 1\n");
    const reply = await at.send("/code3 double it");
    expect(reply.text).toContain(`[Plan]\n${claim}`);
  });
});
