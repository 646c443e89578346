import { describe, expect, test } from "bun:test";
import {
  agentOf,
  coderPrompt,
  FEW_FILES,
  isCoderRole,
  mayDelegate,
  roleOf,
  systemPrompt,
} from "../../../src/domain/chat/agents.ts";
import { chooseAnswerForm, filesInQuestion } from "../../../src/domain/coder/answer-form.ts";
import { ROUTES } from "../../../src/domain/config/configured-kinds.ts";
import { affectedFiles, doubtfulEdits } from "../../../src/domain/drafts/check-edits.ts";
import {
  readWorkerOutput,
  readWrittenCall,
  WORKER_CONTRACT,
} from "../../../src/domain/models/worker-output.ts";
import { parseAnswer, parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";

test("every route has its agent, and CODE is the default coder", () => {
  const agents = ROUTES.map((route) => `${route} ${agentOf(roleOf(route, "coder2"))}`);
  expect(agents).toEqual([
    "CHAT Mio",
    "PLAN Mio",
    "ANALYZE Shiro",
    "OPS Shiro",
    "RESEARCH Shiro",
    "CODE Ao",
    "CODE1 Aka",
    "CODE2 Ao",
    "CODE3 Gin",
  ]);
  expect((["chat", "worker", "coder1", "coder3"] as const).map(isCoderRole)).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

const PLAIN = {
  language: "en",
  planOnly: false,
  checks: "",
  tools: [],
  isSubAgent: false,
  form: "edits",
  small: false,
} as const;
const FORMS = [
  ...(["claude", "openai", "deepseek", "gemini", "other"] as const).map(
    (family) => [family, "edits"] as const,
  ),
] as const;

describe("prompts", () => {
  const base = { agent: "Shiro", duty: "You look.", today: "2026-03-01", workspace: "/ws" } as const;

  test("the executor's fragment is between the tools and the rules, and only when there is one", () => {
    const tools = [{ name: "read_file", description: "Reads a file." }, { name: "tree" }];
    const prompt = systemPrompt({ ...base, tools, executorFragment: "# Executor\nfragment" });
    expect(prompt).toMatch(
      /# Available MCP Tools\n- read_file\n- tree\n\n# Executor\nfragment\n\n# Behavior Rules/,
    );
    expect(systemPrompt({ ...base, tools })).toMatch(/- tree\n\n# Behavior Rules/);
    expect(systemPrompt({ ...base, tools: [], memory: "Ada likes tabs." })).toEndWith(
      "# Earlier in this conversation\nAda likes tabs.",
    );
  });

  test.each(["claude", "openai", "deepseek", "gemini", "other"] as const)(
    "the format that %s is shown is a patch",
    (family) => {
      const prompt = coderPrompt({
        agent: "Gin",
        family,
        protectedPatterns: [".env*"],
        browser: false,
        ...PLAIN,
      });
      expect(Buffer.byteLength(prompt)).toBeLessThan(2_600);
      const example = prompt.slice(prompt.indexOf("# Patch format"), prompt.indexOf("Shell commands"));
      expect(parsePatch(example)).toMatchObject({ ok: true });
      expect(prompt).not.toContain("uses_browser");
      expect(coderPrompt({ agent: "Gin", family, protectedPatterns: [], browser: true, ...PLAIN })).toContain(
        "uses_browser: true",
      );
    },
  );

  test.each(FORMS)(
    "the example for %s, %s, names a file in question and goes back if it is copied",
    (family, form) => {
      const [path, text] = ["lib/leap.py", "def leap(year):\n    pass\n"];
      const asked = {
        agent: "Gin",
        family,
        protectedPatterns: [],
        browser: false,
        ...PLAIN,
        form,
        path,
      } as const;
      const prompt = coderPrompt(asked);
      const parsed = parseAnswer(
        prompt.slice(prompt.indexOf("# Patch format"), prompt.indexOf("# Behavior")),
      );
      if (!parsed.ok) throw new Error("the example is no patch");
      const commands = parsed.commands.filter(({ target }) => target !== "path/of/file");
      expect(affectedFiles(commands)).toContain(path);
      const files = {
        judges: () => true,
        look: (one: string) =>
          one === path
            ? ({ kind: "file", bytes: Buffer.from(text), mode: 0o644 } as const)
            : ({ kind: "missing" } as const),
      };
      expect(doubtfulEdits(commands, files, { shown: () => true, told: () => true })).not.toEqual([]);
      expect(prompt).not.toContain("src/app.ts");
    },
  );

  test("a small model is asked for whole files and for no test; each rule that it does not need is left out", () => {
    const asked = { agent: "Gin", family: "other", protectedPatterns: [".env*"], browser: false } as const;
    const prompt = coderPrompt({ ...asked, ...PLAIN, form: "whole", small: true, path: "leap.py" });
    expect(prompt).toContain("one code block that opens with the line ```py:leap.py\n");
    expect(prompt).not.toMatch(
      /SEARCH|a fix includes a test|```bash|^##? |No change|all of the new content/m,
    );
    expect(prompt.length).toBeLessThan(500);
    // Nothing in it is a file that could be copied.
    const copied = parseAnswer(prompt, ["leap.py"]);
    expect(copied.ok && copied.commands.length > 0).toBe(false);
    expect(coderPrompt({ ...asked, ...PLAIN, small: true })).not.toContain("a fix includes a test");
  });

  test("a small model is asked in the language of the request", () => {
    const asked = { agent: "Gin", family: "other", protectedPatterns: [".env*"], browser: false } as const;
    const form = { form: "whole", small: true, path: "leap.py" } as const;
    const prompt = coderPrompt({ ...asked, ...PLAIN, ...form, language: "ja" });
    expect(prompt).toContain("1 つのコードブロックに書いてください: ```py:leap.py\n");
    expect(prompt.length).toBeLessThan(300);
    const copied = parseAnswer(prompt, ["leap.py"]);
    expect(copied.ok && copied.commands.length > 0).toBe(false);
  });

  test("one that asks for a plan alone has no patch format and no rule about tests", () => {
    const asked = { agent: "Gin", family: "claude", protectedPatterns: [".env*"], browser: true } as const;
    const prompt = coderPrompt({ ...asked, ...PLAIN, planOnly: true });
    expect(prompt).not.toMatch(/# Patch format|SEARCH|a fix includes a test|uses_browser/);
    expect(prompt).toContain("Leaves: NAME: reason`.\n\n# Behavior Rules\n");
  });
});

test("a small local model writes whole files, a large one and a long file are edited", () => {
  const form = (model: string, longest = 800, local = true) =>
    chooseAnswerForm({ local, model }, { longest });
  expect(["qwen2.5-coder:1.5b", "m", "coder-model.gguf"].map((model) => form(model))).toEqual([
    "whole",
    "whole",
    "whole",
  ]);
  expect([form("qwen3-coder:30b"), form("m", 40_000), form("m", 800, false)]).toEqual([
    "edits",
    "edits",
    "edits",
  ]);
});

test("another try of a large local model is asked for whole files, one of a cloud model is not", () => {
  const again = (local: boolean) =>
    chooseAnswerForm({ local, model: "qwen3-coder:30b" }, { longest: 800, varied: 1 });
  expect([again(true), again(false)]).toEqual(["whole", "edits"]);
});

test.each([
  [
    "Implement it in leap.py so that the tests in leap_test.py pass.",
    ["leap.py", "leap_test.py"],
    ["leap.py"],
  ],
  ["The year is wrong.", ["leap.py", "leap_test.py"], ["leap.py"]],
  ["Add a case to leap_test.py", ["leap.py", "two.py", "leap_test.py"], ["leap_test.py"]],
  ["The year is wrong.", ["leap.py", "two.py"], []],
])("%s is about %j: %j", (request, shown, expected) => {
  expect(filesInQuestion(request, shown)).toEqual(expected);
});

test("sub-agents are offered where a project or a request is large, or where they are asked for", () => {
  const small = ["Create hello.txt containing hello world.", "add a test for parse()", "色を変えて"];
  const asking = [
    "use subagents for the two halves",
    "Delegate the docs",
    "translate these in parallel",
    "サブエージェントに分けて直して",
    "三つのモジュールを並行して書き換えて",
  ];
  for (const request of small) {
    expect(mayDelegate(request, FEW_FILES)).toBe(false);
    expect(mayDelegate(request, FEW_FILES + 1)).toBe(true);
  }
  for (const request of [...asking, "Write one module for each of these. ".repeat(12)])
    expect(mayDelegate(request, 0)).toBe(true);
});

describe("Shiro's contract", () => {
  const fields = {
    result: "r",
    needs_next_loop: true,
    why: "w",
    confidence: 0.9,
    risk: "low",
    fit: 0.85,
    suggested_route: "CODE3",
  };
  const output = {
    result: "r",
    needsNextLoop: true,
    why: "w",
    confidence: 0.9,
    risk: "low",
    fit: 0.85,
    suggestedRoute: "CODE3" as const,
  };

  test("each field is explained in a line", () => {
    const explained = [...WORKER_CONTRACT.matchAll(/^(\w+): /gm)].map(([, name]) => name);
    expect(explained).toEqual(Object.keys(fields));
    expect(readWorkerOutput(WORKER_CONTRACT)).toMatchObject({
      ...output,
      result: "…",
      needsNextLoop: false,
      why: "…",
      suggestedRoute: "ANALYZE",
    });
  });

  test.each([
    ["alone", JSON.stringify(fields)],
    ["in a fence", `\`\`\`json\n${JSON.stringify(fields, null, 2)}\n\`\`\``],
    ["after words", `Here you are: ${JSON.stringify(fields)} — done`],
    [
      "with texts for values",
      JSON.stringify({ ...fields, needs_next_loop: "true", confidence: "0.9", suggested_route: "code3" }),
    ],
  ])("%s is read", (_, text) => {
    expect(readWorkerOutput(text)).toEqual(output);
  });

  test("a missing or out-of-range value has its default; a result that is not text is shown as JSON", () => {
    const odd = JSON.stringify({ result: { a: 1 }, confidence: 7, fit: -1, suggested_route: "NOWHERE" });
    expect(readWorkerOutput(odd)).toEqual({
      result: '{\n  "a": 1\n}',
      needsNextLoop: false,
      why: "",
      confidence: 0.5,
      risk: "low",
      fit: 1,
    });
    expect(readWorkerOutput("no JSON {at all}").result).toBe("no JSON {at all}");
  });

  test.each([
    ['{"name":"tree","arguments":{"path":"."}}', { path: "." }],
    ['<tool_call>\n{"name":"tree","arguments":{"path":"."}}\n</tool_call>', { path: "." }],
    ['{"function":{"name":"tree","arguments":"{\\"path\\":\\".\\"}"}}', { path: "." }],
    ['{"tool":"tree","parameters":{}}', {}],
  ])("a call written as %s is one", (text, args) => {
    expect(readWrittenCall(text, new Set(["tree"]))).toEqual({ name: "tree", arguments: args });
  });

  test.each(['{"name":"rm","arguments":{}}', '{"name":"tree"}', "tree", JSON.stringify(fields)])(
    "%s is no call",
    (text) => {
      expect(readWrittenCall(text, new Set(["tree"]))).toBeUndefined();
    },
  );
});

test("both catalogues say everything, and differently", () => {
  const [ja, en] = [chatMessagesFor("ja"), chatMessagesFor("en")];
  expect(Object.keys(ja).sort()).toEqual(Object.keys(en).sort());
  expect(ja.help.map(([command]) => command.split(" ")[0])).toEqual(
    en.help.map(([command]) => command.split(" ")[0]),
  );
  const asked = { agent: "Gin", role: "coder3", provider: "ollama", model: "m" };
  const codes = [
    "unreachable",
    "timeout",
    "rate-limited",
    "server-error",
    "unauthorized",
    "unknown-model",
    "context-too-long",
    "bad-request",
    "cut-off",
    "empty",
    "malformed",
    "aborted",
    "no-key",
    "not-configured",
    "refused-remote",
    "over-budget",
    "deadline",
  ] as const;
  for (const code of codes) {
    const said = [ja, en].map((words) => words.modelTrouble(code, asked, "why"));
    expect(new Set(said).size).toBe(2);
    for (const text of said) expect(text).not.toContain("undefined");
  }
  for (const words of [ja, en]) {
    for (const kind of ["warn", "local"] as const)
      expect(words.budget({ kind, spentUsd: 1, dailyUsd: 2, model: "m" })).toContain("$1.00");
    for (const what of ["waiting", "deciding", "thinking", "running", "tool"] as const)
      expect(words.doing(what, "x")).not.toBe("");
    const { unknownCommand, diffCut, dryState, retrying, cutOver } = words;
    for (const text of [
      unknownCommand("x", "y"),
      diffCut(3),
      dryState(true),
      retrying(1, 2, "w"),
      cutOver("s"),
    ])
      expect(text).not.toBe("");
  }
});
