import { describe, expect, test } from "bun:test";
import {
  type ContextBudget,
  coderContext,
  contextBudget,
} from "../../../src/application/coder/coder-context.ts";
import { createExplorer } from "../../../src/application/coder/explorer.ts";
import { namedFiles } from "../../../src/domain/coder/rank-files.ts";
import { memoryProject as project } from "../../fakes/memory-project.ts";

const PATHS = [
  "README.md",
  "src/app.ts",
  "src/users/list.ts",
  "src/users/[id].tsx",
  "src/日本語.md",
  "Makefile",
  "lib/list.ts",
  "a/index.ts",
  "b/index.ts",
  "c/index.ts",
  "d/index.ts",
];

describe("files named in a message", () => {
  test.each<[string, string[]]>([
    ["fix src/app.ts", ["src/app.ts"]],
    ["fix ./src/app.ts, please.", ["src/app.ts"]],
    ["`app.ts`を直して", ["src/app.ts"]],
    ["app.tsの関数を直して、README.mdも", ["src/app.ts", "README.md"]],
    ["src/日本語.md を読んで", ["src/日本語.md"]],
    ["the page users/[id].tsx is broken", ["src/users/[id].tsx"]],
    ["compare list.ts with app.ts", ["src/users/list.ts", "lib/list.ts", "src/app.ts"]],
    ["add a target to the Makefile", ["Makefile"]],
    // Too many files are called so.
    ["look at index.ts", []],
    ["nothing is named here", []],
    ["../../etc/passwd and /etc/shadow", []],
  ])("%s", (message, expected) => {
    expect(namedFiles(message, PATHS).map(({ path }) => path)).toEqual(expected);
  });
});

const BUDGET: ContextBudget = { rules: 500, map: 800, files: 2_000, guessed: 2_000, whole: 2_000 };

test("the lines of a stack trace come with their file", () => {
  expect(namedFiles("at add (src/app.ts:12:7)\n at src/app.ts:40", PATHS)).toEqual([
    { path: "src/app.ts", lines: [12, 40] },
  ]);
});

test("the budget holds for any project, and a cut file says so", () => {
  const files: Record<string, string> = { "big.ts": "x".repeat(50_000), "AGENTS.md": "r".repeat(5_000) };
  for (let i = 0; i < 3_000; i++) files[`src/f${i}.ts`] = `export const v${i} = 1;`;
  const text = coderContext(project(files), { request: "change big.ts", budget: BUDGET });
  expect(text.length).toBeLessThan(3_600);
  expect(text).toContain('<file path="big.ts" cut="true">');
});

describe("a project without a named file", () => {
  test("is shown whole when it is small, without a map", () => {
    const files = { "src/cart.ts": "cart\n", "src/discounts.ts": "off\n", "package-lock.json": "{}" };
    const text = coderContext(project(files), { request: "the discount is applied twice", budget: BUDGET });
    expect(text).toBe(
      'All files of the workspace:\n\n<file path="src/cart.ts">\ncart\n</file>\n\n<file path="src/discounts.ts">\noff\n</file>',
    );
  });

  test("is shown whole where a test is all that is named: the code to change is elsewhere", () => {
    const files = { "src/cart.ts": "cart\n", "test/shop.test.ts": "test\n" };
    const text = coderContext(project(files), { request: "test/shop.test.ts is red", budget: BUDGET });
    expect(text).toBe(
      'All files of the workspace:\n\n<file path="src/cart.ts">\ncart\n</file>\n\n<file path="test/shop.test.ts">\ntest\n</file>',
    );
  });

  const filler = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `src/part-${i}.ts`,
      `export const part${i} = ${"1".repeat(80)};\n`,
    ]),
  );
  const long = [
    "import { round } from './round';",
    ...Array.from({ length: 200 }, (_, i) => `const filler${i} = ${i};`),
    "export function computeInvoiceTotal(lines) {",
    "  return lines.reduce((sum, line) => sum - line.price, 0);",
    "}",
    ...Array.from({ length: 200 }, (_, i) => `const other${i} = ${i};`),
  ].join("\n");

  test.each([
    ["by an identifier", "computeInvoiceTotal gives a negative number"],
    ["by plain words", "the invoice shows a negative total"],
    ["in Japanese", "請求書の合計がマイナスになるので直して"],
  ])("the function that it is about is shown with its lines: %s", (_, request) => {
    const files = { ...filler, "src/billing.ts": `${long}\n` };
    const text = coderContext(project(files), { request, budget: BUDGET });
    expect(text).toContain("export function computeInvoiceTotal(lines) {\n  return lines.reduce(");
    expect(text).toMatch(/<file path="src\/billing\.ts" lines="[\d,-]*202-204[\d,-]* of 404">/);
    expect(text).toMatch(/… lines \d+-\d+ not shown …/);
  });

  test("a message whose words no file holds shows the largest source first", () => {
    const files = { ...filler, "src/billing.ts": `${long}\n`, "docs/guide.md": "x\n".repeat(20_000) };
    const text = coderContext(project(files), { request: "fix qqqzzz", budget: BUDGET });
    expect(text).toMatch(/<file path="src\/billing\.ts"/);
    expect(text).not.toContain('<file path="docs/guide.md');
  });

  test("of the largest sources only those that are shown are read, and one without text is not shown as empty", () => {
    const files = { ...filler, "src/billing.ts": `${long}\n`, "src/wide.ts": "\0".repeat(90_000) };
    const read: string[] = [];
    const watched = {
      ...project(files),
      read(path: string, limit: number) {
        if (limit > 50_000) read.push(path);
        return path === "src/wide.ts" ? null : project(files).read(path, limit);
      },
    };
    const text = coderContext(watched, { request: "fix qqqzzz", budget: { ...BUDGET, whole: 0 } });
    expect([...text.matchAll(/<file path="(.*?)"/g)].map(([, path]) => path)).toEqual([
      "src/billing.ts",
      "src/part-10.ts",
      "src/part-11.ts",
    ]);
    expect(read.filter((path) => path.startsWith("src/")).length).toBeLessThan(10);
  });

  test("definitions of a name precede its uses, sources precede tests, and tests precede fixtures", () => {
    const use = `import { parseAmount } from "./amount";\n${"parseAmount('1');\n".repeat(30)}`;
    const files = {
      ...filler,
      "fixtures/parse-amount.json": `{ "parseAmount": 1 }`,
      "test/amount.test.ts": use,
      "src/a-first.ts": use,
      "src/amount.ts": `export function parseAmount(text) {\n  return Number(text);\n}\n`,
    };
    const text = coderContext(project(files), { request: "parseAmount loses decimals", budget: BUDGET });
    const order = [...text.matchAll(/<file path="([^"]+)"/g)].map(([, path]) => path);
    expect(order.slice(0, 3)).toEqual(["src/amount.ts", "src/a-first.ts", "test/amount.test.ts"]);
  });
});

test("the files of the last job are shown for any request", () => {
  const files: Record<string, string> = { "a.txt": "the last one\n", "b.txt": "named\n" };
  const shown = coderContext(project(files), {
    request: "it still fails, look at b.txt",
    recent: [{ path: "a.txt", lines: [] }],
    budget: BUDGET,
  });
  expect(shown).toContain('<file path="a.txt">\nthe last one\n</file>');
  expect(shown).toContain('<file path="b.txt">\nnamed\n</file>');
});

test("rules of the folders involved come after those of the root", () => {
  const files = {
    "AGENTS.md": "Root rules.",
    "api/CLAUDE.md": "Rules of the api.",
    "web/AGENTS.md": "Rules of the web.",
    "api/server.ts": "serve();\n",
  };
  const text = coderContext(project(files), { request: "change api/server.ts", budget: BUDGET });
  expect(text).toStartWith(
    "Project rules (AGENTS.md):\nRoot rules.\n\nProject rules (api/CLAUDE.md):\nRules of the api.\n\n",
  );
  expect(text).not.toContain("Rules of the web");
});

describe("in a short window", () => {
  const source = (name: string, lines: number) =>
    Array.from({ length: lines }, (_, at) => `export const ${name}${at} = "${name} value ${at}";`).join("\n");
  const files = {
    "AGENTS.md": "Follow the rule of the house.\n".repeat(400),
    "CHANGELOG.md": "- an entry of the cart\n".repeat(400),
    "src/cart.ts": `import { price } from "./price.ts";\n${source("cart", 60)}\n`,
    "src/price.ts": `${source("price", 900)}\n`,
    "test/cart.test.ts": `import { cart1 } from "../src/cart.ts";\n${source("test", 300)}\n`,
    ...Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`lib/part-${at}.ts`, source(`part${at}_`, 40)]),
    ),
  };

  test.each([8_192, 12_288, 16_384, 32_768, 131_072])(
    "%i tokens: a third at most, the file in question whole",
    (window) => {
      const budget = contextBudget({ local: true, window }, "full");
      for (const request of [
        "cart3 in src/cart.ts is wrong",
        "price7 is wrong",
        "add an entry of the cart to the changelog",
      ]) {
        const begun = process.cpuUsage();
        const text = coderContext(project(files), { request, budget });
        const { user, system } = process.cpuUsage(begun);
        expect((text.length + 3_000) / 3.5).toBeLessThanOrEqual(Math.min(12_000, window / 3));
        if (request.includes("src/cart.ts"))
          expect(text).toContain(`<file path="src/cart.ts">\n${files["src/cart.ts"]}`);
        // 20 ms on an idle machine.
        expect((user + system) / 1_000).toBeLessThan(200);
      }
    },
  );

  test("a large window of a cloud model has the large budget, a known one of a local model never", () => {
    expect(contextBudget({ local: false, window: 200_000 }, "full")).toEqual(
      contextBudget({ local: false }, "full"),
    );
    expect(contextBudget({ local: true, window: 200_000 }, "full").files).toBeLessThan(30_000);
  });
});

describe("rules", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, n) => `Rule number ${n} of the house.`);
  const cloud = contextBudget({ local: false }, "full");

  test("of 32 KiB are shown whole", () => {
    const rules = lines(1_100).join("\n").slice(0, 32_700).trim();
    const text = coderContext(project({ "AGENTS.md": rules, "a.ts": "x\n" }), {
      request: "a.ts",
      budget: cloud,
    });
    expect(text).toContain(rules);
    expect(text).not.toContain("not shown");
  });

  test("that are longer end at a line, and say what is left out and where it is", () => {
    const rules = lines(2_000).join("\n");
    const told: unknown[] = [];
    const text = coderContext(
      project({ "AGENTS.md": rules, "sub/AGENTS.md": "Of sub, ".repeat(60), "sub/a.ts": "x\n" }),
      {
        request: "sub/a.ts",
        budget: cloud,
        onRules: (paths, cut) => told.push(paths, cut),
      },
    );
    const [, left, of, line] =
      /The rest is not shown: (\d+) of (\d+) characters.*AGENTS\.md:(\d+)-/.exec(text) ?? [];
    expect(Number(of)).toBe(rules.length);
    expect(Number(left)).toBe(
      rules
        .split("\n")
        .slice(Number(line) - 1)
        .join("\n").length + 1,
    );
    expect(text).toContain(`Rule number ${Number(line) - 2} of the house.\n(The rest`);
    expect(text).toContain("(Not shown: 479 of 479 characters. Read it where it matters: sub/AGENTS.md:1-)");
    expect(told).toEqual([
      ["AGENTS.md", "sub/AGENTS.md"],
      [
        { path: "AGENTS.md", shown: rules.length - Number(left), of: rules.length },
        { path: "sub/AGENTS.md", shown: 0, of: 479 },
      ],
    ]);
  });

  test("of a second file of a folder are named, unless it says the same or only points to the first", () => {
    const beside = (other: string) =>
      coderContext(project({ "AGENTS.md": "One.", "CLAUDE.md": other, "a.ts": "x\n" }), {
        request: "a.ts",
        budget: cloud,
      });
    expect(beside("Two.")).toStartWith("Project rules (AGENTS.md):\nOne.\n(Not shown beside it: CLAUDE.md)");
    for (const same of ["One.\n", "@AGENTS.md\n"]) expect(beside(same)).not.toContain("beside it");
  });

  test("of a folder that is looked at later come with its first file, once", async () => {
    const files = {
      "AGENTS.md": "Root.",
      "web/CLAUDE.md": "Of the web.",
      "web/a.ts": "a\n",
      "web/b.ts": "b\n",
    };
    const explorer = createExplorer({
      project: () => project(files),
      request: "",
      limit: 1_000,
      mask: (text) => text,
      seenRules: new Set(["AGENTS.md"]),
    });
    const read = async (path: string) =>
      (await explorer.call({ id: "1", name: "read_file", arguments: { path } })).text;
    expect(await read("web/a.ts")).toEndWith("</file>\n\nProject rules (web/CLAUDE.md):\nOf the web.");
    expect(await read("web/b.ts")).toEndWith("</file>");
  });
});

test("a name that the named file does not hold is looked up", () => {
  const files = {
    "src/shop.ts": "import { priceOf } from './price';\nshow(priceOf(1));\n",
    "src/price.ts": "export function roundPrice(value) {\n  return Math.round(value);\n}\n",
    "src/other.ts": "export const nothing = 1;\n",
  };
  const text = coderContext(project(files), { request: "use roundPrice in src/shop.ts", budget: BUDGET });
  expect(text).toContain('<file path="src/price.ts">');
  expect(text).not.toContain('<file path="src/other.ts">');
});

describe("what the first request shows of a larger project", () => {
  const filler = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `lib/copy/part-${i}.ts`,
      `// copies the folder, the source and the link\nexport const copyPart${i} = "${"1".repeat(60)}";\n`,
    ]),
  );
  const shownPaths = (text: string) => [...text.matchAll(/<file path="([^"]+)"/g)].map(([, path]) => path);
  const pad = Array.from({ length: 60 }, (_, i) => `const pad${i} = "${"p".repeat(20)}";`).join("\n");

  test("the source that holds a quoted message, though it shares no other word, in its whole function", () => {
    const files = {
      ...filler,
      "lib/util/stat.ts": `${pad}\nfunction checkPaths(a, b) {\n  if (isSame(a, b)) {\n    throw new Error("Both ends must not be the same.");\n  }\n  return null;\n}\n${pad}\n`,
      "lib/copy/copy-sync.ts": "export function copySync(a, b) {\n  return a;\n}\n",
    };
    const request = "Copying a folder with a link fails with 'Both ends must not be the same.' in copySync";
    const text = coderContext(project(files), { request, budget: { ...BUDGET, guessed: 6_000 } });
    expect(shownPaths(text)).toContain("lib/util/stat.ts");
    expect(text).toContain("function checkPaths(a, b) {\n  if (isSame(a, b)) {");
    // The fillers hold nothing but common words of the request.
    expect(shownPaths(text).filter((path) => path?.includes("part-"))).toEqual([]);
  });

  test("the file that defines a name is first, and a line that only passes a name on defines nothing", () => {
    const files = {
      ...filler,
      "lib/main.ts": "export function loadTotals(rows) {\n  return pickRow(rows);\n}\n",
      "lib/esm.ts": `${pad}\nexport const loadTotals = main.loadTotals;\n`,
    };
    const text = coderContext(project(files), {
      request: "loadTotals is slow",
      budget: { ...BUDGET, guessed: 6_000 },
    });
    expect(shownPaths(text)[0]).toBe("lib/main.ts");
  });

  test("a message about the code just written shows that code, and little of what its common words match", () => {
    const wordy = Array.from({ length: 400 }, (_, i) => `const string${i} = "nothing but spaces";`).join(
      "\n",
    );
    const files = { ...filler, "lib/empty.ts": "export const isEmpty = 1;\n", "lib/stringify.ts": wordy };
    const recent = [{ path: "lib/empty.ts", lines: [1] }];
    const budget = { ...BUDGET, guessed: 30_000 };
    const text = coderContext(project(files), {
      request: "let it be true for strings of nothing but spaces",
      recent,
      budget,
    });
    expect(text).toContain("export const isEmpty = 1;");
    expect(text.length).toBeLessThan(3_500);
    const other = coderContext(project(files), { request: "strings of nothing but spaces", recent, budget });
    expect(other.length).toBeGreaterThan(text.length);
  });

  test("the file that defines the names of the request is first, and few that hold common names alone follow", () => {
    const filler = "# text of a table and its html\n".repeat(400);
    const others = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [
        `lib/other${at}.py`,
        `def read${at}():\n    raise TypeError("Table")\n${filler}`,
      ]),
    );
    const shown = coderContext(
      project({
        "lib/tables.py": `class Table:\n    def to_text(self):\n        pass\n${filler}`,
        "lib/urls.py": `class Url:\n    def to_text(self):\n        pass\n${filler}`,
        ...others,
      }),
      { request: "Table([[]]).to_text() raises TypeError", budget: contextBudget({ local: false }, "full") },
    );
    const files = [...shown.matchAll(/<file path="([^"]+)"/g)].map((found) => found[1]);
    expect(files[0]).toBe("lib/tables.py");
    expect(files.length).toBeLessThan(6);
  });

  test("of a long changelog the head is shown, where a line is added", () => {
    const lines = Array.from({ length: 400 }, (_, at) => `- entry ${at} of the cart`);
    const shown = coderContext(
      project({ "src/cart.ts": "export const cart = 1;\n", "CHANGELOG.md": lines.join("\n") }),
      {
        request: "change src/cart.ts and the changelog",
        budget: contextBudget({ local: false }, "full"),
      },
    );
    expect(shown).toContain("- entry 30 of");
    expect(shown).not.toContain("- entry 399 of");
  });

  test("the test of a shown source is shown with it, and the changelog where it is asked for", () => {
    const files = {
      ...filler,
      "src/cart.ts": "export function addLine(cart) {\n  return cart;\n}\n",
      "test/cart.test.ts": "test('adds', () => {});\n",
      "CHANGELOG.md": "# 1.0.0\n",
    };
    const ask = (request: string) => shownPaths(coderContext(project(files), { request, budget: BUDGET }));
    expect(ask("change src/cart.ts")).toEqual(["src/cart.ts", "test/cart.test.ts"]);
    expect(ask("change src/cart.ts and the changelog")).toContain("CHANGELOG.md");
  });

  test.each<[string, string, string, readonly string[]]>([
    ["by its name", "test/cart.test.ts", "test('adds', () => {});\n", ["src/cart.ts"]],
    ["by its imports", "test/basics.test.ts", 'import { addLine } from "../src/cart.js";\n', ["src/cart.ts"]],
    ["Python", "tests/test_durations.py", "from durations import parse\n", ["src/durations/parse.py"]],
    ["Go", "cache/cache_test.go", "package cache\n", ["cache/cache.go"]],
  ])("a test that is named brings the source that it tests: %s", (_, named, text, sources) => {
    const files = {
      ...filler,
      "src/cart.ts": "export function addLine(cart) {\n  return cart;\n}\n",
      "src/durations/__init__.py": "from .parse import parse\n",
      "src/durations/parse.py": "def parse(text):\n    return 1\n",
      "cache/cache.go": "package cache\n",
      [named]: text,
    };
    const shown = shownPaths(
      coderContext(project(files), { request: `${named} is red, make it green`, budget: BUDGET }),
    );
    expect(shown[0]).toBe(named);
    for (const source of sources) expect(shown).toContain(source);
    expect(shown.filter((path) => path?.startsWith("lib/"))).toEqual([]);
  });
});

describe("files that a change extends", () => {
  const filler = (name: string) =>
    Array.from(
      { length: 120 },
      (_, at) => `export function ${name}Part${at}() {\n  return ${at} * 2;\n}`,
    ).join("\n");
  const cases = (module: string, name: string) =>
    [
      `import { ${name} } from "../src/${module}.js";`,
      ...Array.from({ length: 200 }, (_, at) => `test("${module} case ${at}", () => check(${at}));`),
      `test("the last of ${module}", () => ${name}());`,
    ].join("\n");
  const OPEN = `# Changelog\n\n## Unreleased\n\n- ${"An entry of many words. ".repeat(4)}\n\n## 1.0.0\n${"- old\n".repeat(900)}`;
  const files = {
    "package.json": "{}",
    "src/spans.js": `export function parseSpan(text) {\n  return text;\n}\n${filler("span")}`,
    "src/other.js": filler("other"),
    "test/other.test.js": cases("other", "otherPart1"),
    "test/spans-and-ranges.js": cases("spans", "parseSpan"),
    "test/unrelated.js": cases("unrelated", "nothing"),
  };
  const context = (request: string, more: Readonly<Record<string, string>> = {}) =>
    coderContext(project({ ...files, ...more }), {
      request,
      budget: contextBudget({ local: false }, "full"),
    });

  test("the test nearest to the code is there with its head and its end, and no other", () => {
    const told = context("parseSpan() drops the last character");
    expect(told).toContain('<file path="test/spans-and-ranges.js"');
    expect(told).toContain('import { parseSpan } from "../src/spans.js";');
    expect(told).toContain("the last of spans");
    expect(told).not.toContain('<file path="test/other.test.js"');
    expect(told).not.toContain('<file path="test/unrelated.js"');
  });

  test("where there are few tests, one that has a name of the request is near though neither is called like the source", () => {
    const shown = coderContext(
      project({
        "src/_path.ts": `export function extname(p) {\n${"  // how\n".repeat(900)}}\n`,
        "src/index.ts": 'export * from "./_path";\n',
        "test/index.spec.ts": `import { extname } from "../src";\ncheck(extname);\n${"// row\n".repeat(900)}`,
        "test/utils.spec.ts": `import { filename } from "../src/utils";\n${"// row\n".repeat(900)}`,
      }),
      {
        request: "path.extname drops a last dot",
        budget: { ...contextBudget({ local: false }, "full"), whole: 1_000 },
      },
    );
    expect(shown).toContain('<file path="test/index.spec.ts"');
    expect(shown).not.toContain('<file path="test/utils.spec.ts"');
  });

  test("where there are few tests, one in the folder of the source that has no name of the request is not near", () => {
    const shown = coderContext(
      project({
        "rate.go": `package m\nfunc ParseRate(p string) int {\n${"  // how\n".repeat(900)}}\n`,
        "banner_test.go": `package m\nfunc TestBanner(t *testing.T) {}\n${"// row\n".repeat(900)}`,
      }),
      {
        request: "ParseRate drops a last digit",
        budget: { ...contextBudget({ local: false }, "full"), whole: 1_000 },
      },
    );
    expect(shown).toContain('<file path="rate.go"');
    expect(shown).not.toContain('<file path="banner_test.go"');
  });

  test("of tests in a folder called like the source, the one called like the named function is nearer than one called like the source", () => {
    const shown = coderContext(
      project({
        "package.json": "{}",
        "lib/reply.js": `module.exports = {\n  back (alt) {\n    this.go(alt)\n  },\n${"  // how\n".repeat(900)}}\n`,
        "__tests__/application/reply.test.js": `const reply = require("../..");\n${"// row\n".repeat(900)}`,
        "__tests__/reply/back.test.js": `describe("ctx.back", () => ctx.back());\n${"// row\n".repeat(900)}`,
        "__tests__/reply/type.test.js": `describe("ctx.type", () => {});\n${"// row\n".repeat(900)}`,
      }),
      {
        request: "ctx.back() follows any referrer",
        budget: { ...contextBudget({ local: false }, "full"), whole: 1_000 },
      },
    );
    expect(shown).toContain('<file path="__tests__/reply/back.test.js"');
    expect(shown).not.toContain('<file path="__tests__/application/reply.test.js"');
  });

  test("it is there where the message names the source, too", () => {
    const told = context("In src/spans.js an empty text should give null");
    expect(told).toContain('<file path="test/spans-and-ranges.js"');
  });

  test("the head of a changelog with an open section is there, one that is written at releases is not", () => {
    const told = context("parseSpan() drops the last character", { "CHANGELOG.md": OPEN });
    const head = /<file path="CHANGELOG.md"[^>]*>([\s\S]*?)<\/file>/.exec(told)?.[1] ?? "";
    expect(head).toContain("## Unreleased");
    expect(head.length).toBeLessThan(1_100);
    const closed = OPEN.replace("## Unreleased", "## 1.0.1");
    expect(context("parseSpan() drops the last character", { "CHANGELOG.md": closed })).not.toContain(
      '<file path="CHANGELOG.md"',
    );
  });

  test("of a long file of data that the message names, the places of its literals are shown", () => {
    const rows = Array.from(
      { length: 900 },
      (_, at) => `  "unit${at}": { "name": "U${at}", "factor": ${at} },`,
    );
    rows[700] = '  "kibi": { "name": "KiB", "factor": 1000 },';
    const table = `{\n${rows.join("\n")}\n  "end": {}\n}\n`;
    const request = 'In data/units.json the factor of "KiB" should be 1024';
    const told = context(request, { "data/units.json": table });
    const shown = /<file path="data\/units.json"[^>]*>([\s\S]*?)<\/file>/.exec(told)?.[1] ?? "";
    expect(shown).toContain('"KiB"');
    expect(shown).toContain("lines");
    expect(shown.length).toBeLessThan(4_500);
    // A request for the whole table shows the whole table.
    expect(context("Sort data/units.json by factor", { "data/units.json": table })).toContain(table);
  });

  test("of a changelog that the message names, its head and the entry are shown", () => {
    const log = `${OPEN}- Fixed the parsing of spans with commas\n${"- older\n".repeat(3_000)}`;
    const told = context(
      "The entry 'Fixed the parsing of spans with commas' in CHANGELOG.md should say colons",
      {
        "CHANGELOG.md": log,
      },
    );
    const shown = /<file path="CHANGELOG.md"[^>]*>([\s\S]*?)<\/file>/.exec(told)?.[1] ?? "";
    expect(shown).toContain("## Unreleased");
    expect(shown).toContain("Fixed the parsing of spans with commas");
    expect(shown.length).toBeLessThan(4_500);
  });
});
