import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "yaml";
import type { SettingEdit } from "../../src/config/config.ts";
import { editYaml } from "../../src/config/edit-yaml.ts";
import { cases } from "../require.ts";

const FILE = `# What we use.
roles:   # who
  chat: { provider: ollama, model: "chat-v1:latest" }   # Mio
  coder3:
    provider: claude

# security:
#   local_only: true

schedules:
  # every morning
  - name: morning
    cron: "0 9 * * *"   # at nine
    chat: web:operator
    message: Look at the log
  - name: evening
    cron: "0 18 * * *"
    chat: web:operator
    message: Bye

# The end.
`;

const CASES: readonly (readonly [
  name: string,
  from: string,
  edit: SettingEdit,
  ...change: [string, string],
])[] = [
  [
    "a value in a flow map",
    FILE,
    { path: ["roles", "chat", "model"], value: "qwen3:8b" },
    '"chat-v1:latest"',
    '"qwen3:8b"',
  ],
  [
    "a plain value",
    FILE,
    { path: ["roles", "coder3", "provider"], value: "openai" },
    "provider: claude",
    "provider: openai",
  ],
  [
    "a key that is new in a block",
    FILE,
    { path: ["roles", "coder3", "model"], value: "gpt-5.1" },
    "provider: claude\n",
    "provider: claude\n    model: gpt-5.1\n",
  ],
  [
    "a key that is new in a flow map",
    "roles: { chat: { provider: ollama } } # x\n",
    { path: ["roles", "chat", "model"], value: "a:b" },
    "{ provider: ollama }",
    '{ provider: ollama, model: "a:b" }',
  ],
  [
    "a section that is new",
    FILE,
    { path: ["budget", "daily"], value: 5 },
    "# The end.\n",
    "# The end.\n\nbudget:\n  daily: 5\n",
  ],
  [
    "a section of a file of comments",
    "# Nothing yet.\n",
    { path: ["a"], value: true },
    "yet.\n",
    "yet.\n\na: true\n",
  ],
  [
    "an item that is new",
    FILE,
    { path: ["schedules", 2], value: { name: "noon", chat: "web:a" } },
    "    message: Bye\n",
    "    message: Bye\n  - name: noon\n    chat: web:a\n",
  ],
  [
    "an item that goes",
    FILE,
    { path: ["schedules", 1], value: undefined },
    '  - name: evening\n    cron: "0 18 * * *"\n    chat: web:operator\n    message: Bye\n',
    "",
  ],
  ["nothing that goes", FILE, { path: ["budget"], value: undefined }, "", ""],
];

describe("a file keeps every other line as it was written, with", () => {
  for (const [name, from, edit, old, now] of CASES)
    test(name, () => {
      expect(from).toContain(old);
      expect(editYaml(from, [edit])).toBe(from.replace(old, now));
    });
});

test("what cannot be changed line by line keeps its comments", () => {
  const text = "# mine\nschedules:\n  # the only one\n  - { name: a }\nother: |\n  text # no comment\n";
  const now = editYaml(text, [{ path: ["schedules", 0], value: undefined }]) ?? "";
  expect(parse(now)).toEqual({ schedules: [], other: "text # no comment\n" });
  expect(now).toContain("# mine");
});

test("a text that is not YAML, or a value in the place of a section, is not changed", () => {
  expect(editYaml("a: [", [{ path: ["b"], value: 1 }])).toBeNull();
  expect(editYaml("budget: 5\n", [{ path: ["budget", "daily"], value: 1 }])).toBeNull();
});

test("every written value is read back, and nothing else changes", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const path = fc.constantFrom(
    ["roles", "chat", "model"],
    ["roles", "coder3", "provider"],
    ["roles", "coder3", "model"],
    ["schedules", 0, "message"],
    ["schedules", 1, "timezone"],
    ["budget", "daily"],
  );
  fc.assert(
    fc.property(path, value, (where, given) => {
      const expected = parse(FILE);
      const last = where.slice(0, -1).reduce((tree, key) => {
        tree[key] ??= {};
        return tree[key];
      }, expected);
      last[where.at(-1) as string] = given;
      const now = editYaml(FILE, [{ path: where, value: given }]) ?? "";
      expect(parse(now)).toEqual(expected);
      for (const comment of [
        "# What we use.",
        "# who",
        "# Mio",
        "#   local_only: true",
        "# at nine",
        "# The end.",
      ])
        expect(now).toContain(comment);
    }),
    { numRuns: cases(200) },
  );
});
