import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeImporters, findImporters, findUpwardImports } from "../../scripts/check-removable.ts";
import { makeTestFolder } from "../left-behind.ts";

let folder: string;
beforeEach(() => {
  folder = makeTestFolder("removable");
});

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

test("a surface counts the files outside of it that import one of its files, its ports and texts too, each once", () => {
  write("adapters/web/page.ts", "export const page = 1;\n");
  write("application/ports/web.ts", "export type Port = 1;\n");
  write("adapters/web/own.ts", 'import { page } from "./page.ts";\nexport const own = page;\n');
  write("adapters/cli/ps.ts", "export const ps = 1;\n");
  write(
    "adapters/cli/dispatch.ts",
    'import { ps } from "./ps.ts";\nexport const all = [ps, import("../web/page.ts")];\n',
  );
  write(
    "wiring/serve.ts",
    'import { page } from "../adapters/web/page.ts";\nimport type { Port } from "../application/ports/web.ts";\nexport const served: Port = page as Port;\n',
  );
  write("domain/chat/schedule-sentence.ts", "export const daily = 1;\n");
  write(
    "domain/chat/schedule-words.ts",
    'import { daily } from "./schedule-sentence.ts";\nexport const words = daily;\n',
  );
  const importers = findImporters(folder);
  expect(importers.get("web")).toEqual(["adapters/cli/dispatch.ts", "wiring/serve.ts"]);
  expect(importers.get("ps")).toEqual(["adapters/cli/dispatch.ts"]);
  expect(importers.get("schedules")).toEqual([]);
  expect(describeImporters(importers)).toContain("web 2, heads 0");
});

test("a count alone fails nothing; an import that runs upwards into a surface fails and names it", () => {
  write("adapters/acp/serve.ts", "export const serve = 1;\n");
  write("wiring/acp.ts", 'import { serve } from "../adapters/acp/serve.ts";\nexport const acp = serve;\n');
  expect(findUpwardImports(folder)).toEqual([]);
  write("adapters/web/app.ts", 'import { serve } from "../acp/serve.ts";\nexport const app = serve;\n');
  expect(findUpwardImports(folder)).toEqual([
    "adapters/web/app.ts: web may not import acp, which is above it (adapters/acp/serve.ts): acp can no longer be taken out without this file",
  ]);
});
