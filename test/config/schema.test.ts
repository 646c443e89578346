import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { configurationReference } from "../../scripts/gen-config-docs.ts";
import { DEFAULTS } from "../../src/config/config.ts";
import { jsonSchema, knownKeys, nodeAt, type SchemaNode } from "../../src/config/keys.ts";
import { HARMLESS } from "../../src/config/power.ts";
import { configSchema, generateJsonSchema } from "../../src/config/schema/root.ts";
import { type Tree, withValue } from "../../src/config/tree.ts";
import { acceptTree } from "../../src/config/validate.ts";
import { cases } from "../require.ts";

test("the defaults are what the schema says (else: bun scripts/gen-config-docs.ts)", () => {
  expect(configSchema.parse({})).toStrictEqual(DEFAULTS);
  // A copy of the schema has no section written out: each is walked.
  for (const schema of [structuredClone(jsonSchema()), jsonSchema()])
    expect(acceptTree(schema, {})).toStrictEqual({ ok: true, value: DEFAULTS });
});

test("the generated schema is current (else: bun scripts/gen-config-docs.ts)", () => {
  expect(jsonSchema() as unknown).toEqual(JSON.parse(JSON.stringify(generateJsonSchema())));
});

test("the reference is current (else: bun scripts/gen-config-docs.ts)", () => {
  const reference = readFileSync(join(import.meta.dir, "../../docs/configuration.md"), "utf8");
  expect(reference).toBe(configurationReference(jsonSchema()));
});

test("every key is described", () => {
  expect(
    knownKeys()
      .filter(({ node }) => (node.description ?? "") === "")
      .map((key) => key.path.join(".")),
  ).toEqual([]);
});

test("every key of the trust rules exists", () => {
  const missing = Object.keys(HARMLESS).filter((key) => nodeAt(jsonSchema(), key.split(".")) === undefined);
  expect(missing).toEqual([]);
});

test("the walk over the schema knows every word the schema uses", () => {
  const known = new Set(
    (
      "type properties additionalProperties propertyNames required items anyOf enum minimum maximum exclusiveMinimum " +
      "minLength maxLength pattern default description secret reference size timezone shown $schema"
    ).split(" "),
  );
  const words = new Set<string>();
  const visit = (node: SchemaNode): void => {
    for (const word of Object.keys(node)) words.add(word);
    const below = [
      ...Object.values(node.properties ?? {}),
      ...(node.anyOf ?? []),
      node.items,
      node.additionalProperties,
      node.propertyNames,
    ];
    for (const one of below) if (one) visit(one);
  };
  visit(jsonSchema());
  expect([...words].filter((word) => !known.has(word))).toEqual([]);
});

const valueArb = fc.oneof(
  fc.constantFrom<unknown>(
    true,
    false,
    null,
    0,
    1,
    -1,
    0.5,
    3,
    70_000,
    1e300,
    "",
    "x",
    "ja",
    "auto",
    "on",
    "off",
    "none",
    "error",
    "env:NAME",
    "env:",
    "CHAT",
    "CODE3",
    "2GiB",
    "500MB",
    "4g",
    "4 g",
    "12",
    "2 gigs",
    "http://x",
    "https://u:p@x",
    "ftp://x",
    "postgres://h/db",
    "Asia/Tokyo",
    "Mars/X",
    "00:00",
    "24:00",
    "coder1",
    "coder9",
    "info",
    "python",
    "a b",
  ),
  fc.constant([]),
  fc.constant(["a"]),
  fc.constant([""]),
  fc.constant([1]),
  fc.constant({}),
  fc.constant({ a: "b" }),
  fc.constant({ "a b": "c" }),
  fc.constant([{ pattern: "x", route: "CODE" }]),
  fc.constant([{ pattern: "x" }]),
  fc.constant([{ pattern: "x", route: "CODE", more: 1 }]),
  fc.constant({ x: { command: "c", env: { A: "1" } } }),
  fc.constant({ x: { url: 3 } }),
  fc.constant({ x: { nonsense: 1 } }),
);
const pathArb = fc.oneof(
  fc.constantFrom(...knownKeys().map((key) => key.path.map((step) => (step === "*" ? "mine" : step)))),
  fc.constantFrom(
    ["worker"],
    ["wrker"],
    ["worker", "auto_comit"],
    ["providers"],
    ["providers", "mine"],
    ["mcp_servers", "a b"],
    ["routing"],
  ),
);

describe("for any tree", () => {
  test("the walk over the schema decides as zod does, with the same result", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(pathArb, valueArb), { minLength: 1, maxLength: 3 }), (settings) => {
        const tree = settings.reduce((under: Tree, [path, value]) => withValue(under, path, value), {});
        const zod = configSchema.safeParse(tree);
        const walk = acceptTree(jsonSchema(), tree);
        expect({ tree, ok: walk.ok }).toEqual({ tree, ok: zod.success });
        if (zod.success && walk.ok) expect(walk.value).toEqual(zod.data);
      }),
      {
        numRuns: Math.min(5_000, cases(1_250)),
        examples: [[[[["command_executor", "docker", "resources", "memory_limit"], "2GiB"]]]],
      },
    );
  });
});
