import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkImports } from "../../scripts/check-imports.ts";

const folders: string[] = [];

function check(files: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-imports-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return checkImports(folder);
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe("the import check", () => {
  test("is content with the one way", () => {
    const sound = {
      "main.ts": `import { a } from "./application/a.ts"; import "./infrastructure/i.ts"; import "./adapters/c.ts"; console.log(process.env.X, a);`,
      "application/a.ts": `import { d } from "../domain/d.ts"; import type { C } from "../config/schema.ts"; export const a = d as C;`,
      "domain/d.ts": `import { e } from "./e.ts"; import picomatch from "picomatch"; export const d = [e, picomatch];`,
      "domain/e.ts": `export const e = 1; // process.env, Bun.hash`,
      "infrastructure/i.ts": `import "../application/a.ts"; import "./runtime/r.ts"; import "node:fs";`,
      "infrastructure/runtime/r.ts": `import { dlopen } from "bun:ffi"; export const r = [dlopen, Bun.version];`,
      "adapters/c.ts": `import "../config/schema.ts"; export { a } from "../application/a.ts";`,
      "config/schema.ts": `import "../domain/d.ts"; export type C = number;`,
      "config/load.ts": `export const load = () => process.env;`,
      "tools/t.ts": `import "../application/a.ts";`,
      "wiring/program.ts": `import type { CliProgram } from "../adapters/cli/program.ts"; export type P = CliProgram;`,
      "adapters/cli/program.ts": `export type CliProgram = number;`,
    };
    expect(check(sound)).toEqual([]);
  });

  const wrong: readonly [string, string, string, string][] = [
    [
      "the library to the command line's program",
      "lib.ts",
      `import type { CliProgram } from "./adapters/cli/program.ts"; export type Env = CliProgram["env"];`,
      "imports adapters/cli/program.ts, which only the command line and wiring/program.ts may",
    ],
    [
      "domain to application",
      "domain/d.ts",
      `import "../application/a.ts";`,
      "domain may not import application (application/a.ts)",
    ],
    [
      "a type of it",
      "domain/d.ts",
      `import type { A } from "../application/a.ts"; export type B = A;`,
      "domain may not import types of application (application/a.ts)",
    ],
    [
      "an inline type",
      "domain/d.ts",
      `import { type A } from "../application/a.ts"; export type B = A;`,
      "domain may not import types of application (application/a.ts)",
    ],
    [
      "a type re-exported",
      "domain/d.ts",
      `export type { A } from "../application/a.ts";`,
      "domain may not import types of application (application/a.ts)",
    ],
    [
      "a type in place",
      "domain/d.ts",
      `export type B = import("../application/a.ts").A;`,
      "domain may not import types of application (application/a.ts)",
    ],
    [
      "a late import",
      "application/a.ts",
      `export const late = () => import("../infrastructure/i.ts");`,
      "application may not import infrastructure (infrastructure/i.ts)",
    ],
    [
      "values of the configuration",
      "application/a.ts",
      `export { c } from "../config/schema.ts";`,
      "application may not import config (config/schema.ts)",
    ],
    [
      "infrastructure to adapters",
      "infrastructure/i.ts",
      `import "../adapters/c.ts";`,
      "infrastructure may not import adapters (adapters/c.ts)",
    ],
    [
      "adapters to infrastructure",
      "adapters/c.ts",
      `import "../infrastructure/i.ts";`,
      "adapters may not import infrastructure (infrastructure/i.ts)",
    ],
    [
      "tools to infrastructure",
      "tools/t.ts",
      `export * from "../infrastructure/i.ts";`,
      "tools may not import infrastructure (infrastructure/i.ts)",
    ],
    [
      "infrastructure to tools",
      "infrastructure/i.ts",
      `import "../tools/t.ts";`,
      "infrastructure may not import tools (tools/t.ts)",
    ],
    [
      "config to application",
      "config/schema.ts",
      `import "../application/a.ts";`,
      "config may not import application (application/a.ts)",
    ],
    ["anything to main", "adapters/c.ts", `import "../main.ts";`, "adapters may not import main (main.ts)"],
    [
      "bun: elsewhere",
      "infrastructure/i.ts",
      `import { dlopen } from "bun:ffi"; dlopen;`,
      "imports bun:ffi outside src/infrastructure/runtime/",
    ],
    [
      "bun: required",
      "infrastructure/i.ts",
      `const { dlopen } = require("bun:ffi"); dlopen;`,
      "imports bun:ffi outside src/infrastructure/runtime/",
    ],
    [
      "Bun elsewhere",
      "application/a.ts",
      `export const v = Bun.version;`,
      "uses Bun outside src/infrastructure/runtime/",
    ],
    [
      "I/O in the domain",
      "domain/d.ts",
      `import { join } from "node:path"; join;`,
      "the domain does no I/O, but imports node:path",
    ],
    [
      "I/O by its old name",
      "domain/d.ts",
      `import { readFileSync } from "fs"; readFileSync;`,
      "the domain does no I/O, but imports fs",
    ],
    [
      "the environment",
      "adapters/c.ts",
      `export const key = process.env["KEY"];`,
      "reads the environment; only config/load.ts and main.ts and lib.ts and wiring/executor.ts and wiring/proxy.ts may",
    ],
    [
      "out of src",
      "main.ts",
      `import pack from "../package.json"; pack;`,
      "imports ../package.json, which is outside src/",
    ],
  ];
  test.each(wrong)("fails on %s", (_name, file, text, offence) => {
    expect(check({ [file]: text })).toEqual([`${file}: ${offence}`]);
  });

  test("fails on a cycle of types alone", () => {
    const cycle = {
      "domain/a.ts": `import type { B } from "./b.ts"; export interface A { b: B }`,
      "domain/b.ts": `import { type A } from "./a.ts"; export interface B { a?: A }`,
    };
    expect(check(cycle)).toEqual(["cycle: domain/a.ts → domain/b.ts → domain/a.ts"]);
  });

  test("fails on a cycle, named by its path, once", () => {
    const cycle = {
      "domain/a.ts": `import { b } from "./b.ts"; export const a = () => b;`,
      "domain/b.ts": `import { c } from "./sub/c.ts"; export const b = () => c;`,
      "domain/sub/c.ts": `import { a } from "../a.ts"; export const c = () => a;`,
      "domain/own.ts": `import "./own.ts";`,
    };
    expect(check(cycle)).toEqual([
      "cycle: domain/a.ts → domain/b.ts → domain/sub/c.ts → domain/a.ts",
      "cycle: domain/own.ts → domain/own.ts",
    ]);
  });
});
