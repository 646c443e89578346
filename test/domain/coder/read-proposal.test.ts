import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hasFlag, readNoChange, readProposal } from "../../../src/domain/coder/proposal.ts";
import { cases } from "../../require.ts";

function proposalIn(text: string) {
  const read = readProposal(text);
  if (read.kind !== "proposal") throw new Error(`no proposal: ${JSON.stringify(read)}`);
  return read.proposal;
}

describe("sections", () => {
  test("the four sections are read", () => {
    expect(
      proposalIn(
        "## Plan\nDo it.\n\n## Patch\n```bash\nls\n```\n\n## Risk\nHigh, it deletes.\n\n## Cost\n約15分、200行の変更\n",
      ),
    ).toEqual({
      plan: "Do it.",
      patch: "```bash\nls\n```\n\n",
      risk: "high",
      costHint: "約15分、200行の変更",
      flags: {},
    });
  });

  const inside: readonly (readonly [string, string])[] = [
    ["a fence", "```md:README.md\n# Title\n## Risk\nnone of yours\n## Cost\nnothing\n```\n"],
    ["a longer fence", "````md:a.md\n```\n## Cost\n```\n## Plan\n````\n"],
    [
      "a SEARCH/REPLACE block without a fence",
      "a.md\n<<<<<<< SEARCH\n## Risk\n=======\n## Cost\n>>>>>>> REPLACE\n",
    ],
    ["a raw diff", "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n ## Cost\n-## Risk\n+## Plan\n"],
    ["a V4A patch", "*** Begin Patch\n*** Update File: a.md\n@@\n-## Risk\n+## Cost\n*** End Patch\n"],
    ["other headings", "## ファイル編集\n```go:a.go\npackage a\n```\n\n## コマンド実行\n```bash\nls\n```\n"],
  ];
  test.each(inside)("a patch with headings inside %s is not cut", (_, patch) => {
    expect(proposalIn(`## Plan\np\n\n## Patch\n${patch}\n## Risk\nlow\n`).patch.trim()).toBe(patch.trim());
    expect(proposalIn(`## Plan\np\n\n## Patch\n${patch}\n## Risk\nlow\n`).risk).toBe("low");
  });

  const written: readonly (readonly [string, string])[] = [
    ["in Japanese", "## 計画\np\n## パッチ\n```bash\nls\n```\n## リスク\n高\n## コスト\n5分"],
    ["with colons on the line", "## Plan: p\n## Patch:\n```bash\nls\n```\n## Risk: high\n## Cost: 5分"],
    [
      "in bold, with CRLF",
      "## **Plan**\r\np\r\n## **Patch**\r\n```bash\r\nls\r\n```\r\n## **Risk**\r\nhigh\r\n## Cost\r\n5分\r\n",
    ],
    [
      "in one fence around everything",
      "```markdown\n## Plan\np\n## Patch\n```bash\nls\n```\n## Risk\nhigh\n## Cost\n5分\n```",
    ],
    ["at other levels", "# Plan\np\n### Patch\n```bash\nls\n```\n# Risk\nhigh\n# Cost\n5分"],
  ];
  test.each(written)("headings %s are headings", (_, text) => {
    const { plan, patch, risk, costHint } = proposalIn(text);
    expect([plan, risk, costHint]).toEqual(["p", "high", "5分"]);
    expect(patch).toContain("ls");
  });

  test.each(["", "\n", "(none)", "なし", "No changes.", "```\n```"])(
    "an empty patch %j is nothing to do",
    (patch) => {
      expect(proposalIn(`## Plan\np\n## Patch\n${patch}\n## Risk\nlow`).patch).toBe("");
    },
  );

  test("a file that says none is not an empty patch", () => {
    expect(proposalIn("## Plan\np\n## Patch\n```txt:a.txt\nnone\n```\n").patch).toContain("none");
  });

  test("flags are read from their own section and beside the cost", () => {
    const text = "## Plan\np\n## Patch\n\n## Flags\n- uses_browser: true\n- needs_network: no\n- is_dry\n";
    expect(proposalIn(text).flags).toEqual({ uses_browser: true, needs_network: false, is_dry: true });
    expect(hasFlag(proposalIn("## Patch\n\n## Cost\n5 min\nuses_browser = yes\n"), "uses_browser")).toBe(
      true,
    );
  });

  test("files that a coder wants to see are a wish, not a proposal", () => {
    expect(readProposal("## Plan\nlook\n## Files\n- `src/a.ts`\n- b c.ts\n* src/a.ts\n")).toEqual({
      kind: "needs-files",
      searches: [],
      paths: ["src/a.ts", "b c.ts"],
      plan: "look",
    });
  });
});

describe("JSON", () => {
  const fields = {
    plan: "p",
    patch: "diff --git a/a b/a\n## Cost\n",
    risk: "high",
    cost_hint: "5分",
    uses_browser: true,
  };
  const forms: readonly (readonly [string, string])[] = [
    ["alone", JSON.stringify(fields)],
    ["over several lines", JSON.stringify(fields, null, 2)],
    ["in a fence", `Here:\n\`\`\`json\n${JSON.stringify(fields)}\n\`\`\`\nDone.`],
    ["amid prose", `Sure.\n${JSON.stringify(fields)}\n`],
    ["behind a byte order mark", `\uFEFF${JSON.stringify(fields)}`],
  ];
  test.each(forms)("%s is read", (_, text) => {
    expect(proposalIn(text)).toEqual({
      plan: "p",
      patch: fields.patch,
      risk: "high",
      costHint: "5分",
      flags: { uses_browser: true },
    });
  });

  test("a patch may be the commands themselves, or none", () => {
    const command = { type: "shell_command", action: "run", target: "ls" };
    expect(JSON.parse(proposalIn(JSON.stringify({ plan: ["a", "b"], patch: [command] })).patch)).toEqual([
      command,
    ]);
    expect(proposalIn(JSON.stringify({ patch: [] })).patch).toBe("");
    expect(proposalIn(JSON.stringify({ patch: null })).patch).toBe("");
  });

  test("a wish for files may be JSON too", () => {
    expect(readProposal('{"plan":"look","files":["a.ts"]}')).toEqual({
      kind: "needs-files",
      searches: [],
      paths: ["a.ts"],
      plan: "look",
    });
  });
});

describe("without a heading", () => {
  test("commands are a patch, and the prose before them the plan", () => {
    const text = "I will list the files.\n\n```bash\nls\n```\n";
    expect(proposalIn(text)).toMatchObject({ plan: "I will list the files.", patch: text, risk: "medium" });
  });

  test.each(["", "Hello!", "```py\nprint(1)\n```", '{"answer": 42}', "## Plan\nonly a plan\n"])(
    "%j is no proposal",
    (text) => {
      expect(readProposal(text).kind).toBe("none");
    },
  );
});

test("any plan and file are read back as they were written", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "## Risk",
      "## Patch",
      "# Plan",
      "",
      "```",
      "~~~",
      "    code",
      "<<<<<<< SEARCH",
      "日本語の行",
      "*** End Patch",
      "{",
    ),
    fc.string({ maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, " ")),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const content = lines.join("\n");
      const fence = "`".repeat(Math.max(3, ...[...content.matchAll(/`+/g)].map(([run]) => run.length + 1)));
      const block = `${fence}txt:notes/a.txt\n${content}\n${fence}`;
      const read = proposalIn(
        `## Plan\nWrite notes\n\n## Patch\n${block}\n\n## Risk\nlow\n\n## Cost\nsmall\n`,
      );
      expect(read).toEqual({
        plan: "Write notes",
        patch: `${block}\n\n`,
        risk: "low",
        costHint: "small",
        flags: {},
      });
    }),
    { numRuns: cases(300) },
  );
});

test("no text makes it throw", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300, unit: "binary" }), (text) => {
      expect(["proposal", "needs-files", "none"]).toContain(readProposal(text).kind);
    }),
    { numRuns: cases(300) },
  );
});

test("files with lines and searches are wishes", () => {
  const text =
    "## Plan\nlook\n## Files\n- `src/a.ts:10-40`\n* lib/b.ts\n## Search\n- computeTotal\n- ^export .* tax\n";
  expect(readProposal(text)).toEqual({
    kind: "needs-files",
    paths: ["src/a.ts:10-40", "lib/b.ts"],
    searches: ["computeTotal", "^export .* tax"],
    plan: "look",
  });
});

test.each<[string, string[], string]>([
  ["No change: the option is there already.", ["the option is there already."], ""],
  ["It is in `a.ts`.\n- **No change:** a question", ["a question"], "It is in `a.ts`."],
  ["変更なし：既にあります", ["既にあります"], ""],
  ["`No change: it is right`", ["it is right"], ""],
  ["**No changes.**", [""], ""],
  [
    "withBase checks the slash.\nNo change: `withoutBase`: it is right",
    ["`withoutBase`: it is right"],
    "withBase checks the slash.",
  ],
  ["There is no change: nothing moved.", [], "There is no change: nothing moved."],
  ["No changes are needed.", [], "No changes are needed."],
  ["変更なしで動きます。", [], "変更なしで動きます。"],
  ["It adds.\r\nNo change: a question\r", ["a question"], "It adds."],
  ["1. No change: x", ["x"], ""],
  [`No change: ${"long ".repeat(300)}end`, [`${"long ".repeat(300)}end`], ""],
  ["```\nNo change: a question\n```", ["a question"], ""],
  ["So:\n```txt\nNo change: b\n```\nNo change: c", ["c"], "So:\n```txt\nNo change: b\n```"],
  ["- ```\n  No change: b\n  ```", [], "- ```\n  No change: b\n  ```"],
  ["## No changes\nI fixed it.", [], "## No changes\nI fixed it."],
  ["> No change: b", [], "> No change: b"],
  ["Log:\n\n    No change: b", [], "Log:\n\n    No change: b"],
])("the lines that say why nothing changes: %s", (words, reasons, others) => {
  expect(readNoChange(words)).toEqual({ reasons, others });
});

test.each([
  ["plain", "No change: it is there already"],
  ["in a fence", "```\nNo change: it is there already\n```"],
])("a patch of only that line is empty, and its reason belongs to the plan: %s", (_, patch) => {
  const read = readProposal(`## Plan\nLook.\n## Patch\n${patch}\n## Risk\nlow\n`);
  const proposal = { plan: "Look.\nNo change: it is there already", patch: "" };
  expect(read).toMatchObject({ kind: "proposal", proposal, parsed: { ok: true, commands: [] } });
});

test.each<[string, string[] | null, number]>([
  ["## Plan\np\n## Patch\nas in the scratch view\n## Risk\nlow", null, 0],
  ["## Patch: as in the scratch view", null, 0],
  ["It works.\n\n**Patch:** as in the scratch view.", null, 0],
  ["## Patch\n```\nAs in the scratch view\n```", null, 0],
  ["## Patch\nTested:\nas in the scratch view: `src/a.ts`, b/\nDone.", ["src/a.ts", "b/"], 0],
  ["## Patch\nas in the scratch view:\n- src/a.ts\n* `b.ts`\n\n- not one of them\n", ["src/a.ts", "b.ts"], 0],
  ["## Patch\nas in the scratch view\nc.ts\n```ts:c.ts\nx\n```\n```bash\nmake\n```", null, 2],
  [JSON.stringify({ plan: "p", patch: "as in the scratch view: a.ts" }), ["a.ts"], 0],
])("a patch is the scratch view, or a part of it: %j", (answer, paths, commands) => {
  const read = readProposal(answer);
  expect(read).toMatchObject({ kind: "proposal", proposal: { scratch: { paths } }, parsed: { ok: true } });
  expect(read.kind === "proposal" && read.parsed.ok && read.parsed.commands).toHaveLength(commands);
});

test.each([
  "## Patch\n```md:notes.md\nas in the scratch view\n```",
  "## Patch\n```ts:a.ts\nx\n```\nIt is as in the scratch view that I tested.",
  "It is the same as in the scratch view\nthat was thrown away.",
])("words about the scratch view are no patch of it: %j", (answer) => {
  const read = readProposal(answer);
  expect(read.kind === "proposal" ? read.proposal.scratch : undefined).toBeUndefined();
});
