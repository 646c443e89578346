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
      "main.ts": `import { a } from "./application/jobs/a.ts"; import "./infrastructure/jobs/i.ts"; import "./adapters/jobs/c.ts"; console.log(process.env.X, a);`,
      "application/jobs/a.ts": `import { d } from "../../domain/jobs/d.ts"; import type { C } from "../../config/schema.ts"; export const a = d as C;`,
      "domain/jobs/d.ts": `import { e } from "./e.ts"; import picomatch from "picomatch"; export const d = [e, picomatch];`,
      "domain/jobs/e.ts": `export const e = 1; // process.env, Bun.hash`,
      "infrastructure/jobs/i.ts": `import "../../application/jobs/a.ts"; import "../platform/r.ts"; import "node:fs";`,
      "infrastructure/platform/r.ts": `import { dlopen } from "bun:ffi"; export const r = [dlopen, Bun.version];`,
      "adapters/jobs/c.ts": `import "../../config/schema.ts"; export { a } from "../../application/jobs/a.ts";`,
      "config/schema.ts": `import "../domain/policy/p.ts"; export type C = number;`,
      "domain/policy/p.ts": "export const p = 1;",
      "config/load.ts": `export const load = () => process.env;`,
      "tools/t.ts": `import "../application/jobs/a.ts";`,
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
      "domain/jobs/d.ts",
      `import "../../application/jobs/a.ts";`,
      "domain may not import application (application/jobs/a.ts)",
    ],
    [
      "a type of it",
      "domain/jobs/d.ts",
      `import type { A } from "../../application/jobs/a.ts"; export type B = A;`,
      "domain may not import types of application (application/jobs/a.ts)",
    ],
    [
      "an inline type",
      "domain/jobs/d.ts",
      `import { type A } from "../../application/jobs/a.ts"; export type B = A;`,
      "domain may not import types of application (application/jobs/a.ts)",
    ],
    [
      "a type re-exported",
      "domain/jobs/d.ts",
      `export type { A } from "../../application/jobs/a.ts";`,
      "domain may not import types of application (application/jobs/a.ts)",
    ],
    [
      "a type in place",
      "domain/jobs/d.ts",
      `export type B = import("../../application/jobs/a.ts").A;`,
      "domain may not import types of application (application/jobs/a.ts)",
    ],
    [
      "a late import",
      "application/jobs/a.ts",
      `export const late = () => import("../../infrastructure/jobs/i.ts");`,
      "application may not import infrastructure (infrastructure/jobs/i.ts)",
    ],
    [
      "values of the configuration",
      "application/jobs/a.ts",
      `export { c } from "../../config/schema.ts";`,
      "application may not import config (config/schema.ts)",
    ],
    [
      "infrastructure to adapters",
      "infrastructure/jobs/i.ts",
      `import "../../adapters/jobs/c.ts";`,
      "infrastructure may not import adapters (adapters/jobs/c.ts)",
    ],
    [
      "adapters to infrastructure",
      "adapters/jobs/c.ts",
      `import "../../infrastructure/jobs/i.ts";`,
      "adapters may not import infrastructure (infrastructure/jobs/i.ts)",
    ],
    [
      "tools to infrastructure",
      "tools/t.ts",
      `export * from "../infrastructure/jobs/i.ts";`,
      "tools may not import infrastructure (infrastructure/jobs/i.ts)",
    ],
    [
      "infrastructure to tools",
      "infrastructure/jobs/i.ts",
      `import "../../tools/t.ts";`,
      "jobs may not import tools, which is above it (tools/t.ts)",
    ],
    [
      "config to application",
      "config/schema.ts",
      `import "../application/jobs/a.ts";`,
      "config may not import jobs, which is above it (application/jobs/a.ts)",
    ],
    [
      "anything to main",
      "adapters/jobs/c.ts",
      `import "../../main.ts";`,
      "jobs may not import wiring, which is above it (main.ts)",
    ],
    [
      "bun: elsewhere",
      "infrastructure/jobs/i.ts",
      `import { dlopen } from "bun:ffi"; dlopen;`,
      "imports bun:ffi outside src/infrastructure/platform/",
    ],
    [
      "bun: required",
      "infrastructure/jobs/i.ts",
      `const { dlopen } = require("bun:ffi"); dlopen;`,
      "imports bun:ffi outside src/infrastructure/platform/",
    ],
    [
      "Bun elsewhere",
      "application/jobs/a.ts",
      `export const v = Bun.version;`,
      "uses Bun outside src/infrastructure/platform/",
    ],
    [
      "a tree removed by the runtime alone",
      "infrastructure/jobs/i.ts",
      `import { rmSync } from "node:fs"; rmSync("a", { force: true, recursive: true });`,
      "removes a tree by itself; only src/infrastructure/platform/remove-tree.ts may",
    ],
    [
      "I/O in the domain",
      "domain/jobs/d.ts",
      `import { join } from "node:path"; join;`,
      "the domain does no I/O, but imports node:path",
    ],
    [
      "I/O by its old name",
      "domain/jobs/d.ts",
      `import { readFileSync } from "fs"; readFileSync;`,
      "the domain does no I/O, but imports fs",
    ],
    [
      "the environment",
      "adapters/jobs/c.ts",
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

  test("a feature may import the features below it, and none above", () => {
    const columns = {
      "application/ports/jobs-workspace.ts": `import "../../domain/store/s.ts";`,
      "domain/store/s.ts": `export type S = number;`,
      "domain/texts/en/chat.ts": `import "../locale.ts"; import "../../models/m.ts";`,
      "domain/texts/locale.ts": "export const l = 1;",
      "domain/models/m.ts": `import "../chat/c.ts";`,
      "domain/chat/c.ts": "export const c = 1;",
      "domain/store/up.ts": `import type { W } from "../../application/ports/jobs-workspace.ts"; export type V = W;`,
      "infrastructure/kitchen/k.ts": "export const k = 1;",
    };
    expect(check(columns)).toEqual([
      "domain/models/m.ts: models may not import chat, which is above it (domain/chat/c.ts)",
      "domain/store/up.ts: store may not import jobs, which is above it (application/ports/jobs-workspace.ts)",
      "infrastructure/kitchen/k.ts: its folder is not a column",
    ]);
  });

  test("fails on a cycle of types alone", () => {
    const cycle = {
      "domain/jobs/a.ts": `import type { B } from "./b.ts"; export interface A { b: B }`,
      "domain/jobs/b.ts": `import { type A } from "./a.ts"; export interface B { a?: A }`,
    };
    expect(check(cycle)).toEqual(["cycle: domain/jobs/a.ts → domain/jobs/b.ts → domain/jobs/a.ts"]);
  });

  test("fails on a cycle, named by its path, once", () => {
    const cycle = {
      "domain/jobs/a.ts": `import { b } from "./b.ts"; export const a = () => b;`,
      "domain/jobs/b.ts": `import { c } from "./sub/c.ts"; export const b = () => c;`,
      "domain/jobs/sub/c.ts": `import { a } from "../a.ts"; export const c = () => a;`,
      "domain/jobs/own.ts": `import "./own.ts";`,
    };
    expect(check(cycle)).toEqual([
      "cycle: domain/jobs/a.ts → domain/jobs/b.ts → domain/jobs/sub/c.ts → domain/jobs/a.ts",
      "cycle: domain/jobs/own.ts → domain/jobs/own.ts",
    ]);
  });
});
