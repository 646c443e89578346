import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const MEGABYTES = 50;

/** Peak memory of parsing a 50 MB patch in each format, less that of an empty program. */
export async function parseLarge(): Promise<Row[]> {
  const folder = tempFolder("parse");
  const body = "const value = 'some source text that is neither short nor long';\n".repeat(800);
  const count = Math.ceil((MEGABYTES * 1024 * 1024) / body.length);
  const each = (make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i));
  const texts: Record<string, () => string> = {
    json: () =>
      JSON.stringify(
        each((i) => body + i).map((content, i) => ({
          type: "file_edit",
          action: "update",
          target: `f${i}.ts`,
          content,
        })),
      ),
    markdown: () => each((i) => `\`\`\`ts:f${i}.ts\n${body}\`\`\`\n`).join("\n"),
    diff: () =>
      each(
        (i) => `--- /dev/null\n+++ b/f${i}.ts\n@@ -0,0 +1,800 @@\n${body.replace(/^/gm, "+").slice(0, -1)}`,
      ).join(""),
    v4a: () =>
      `*** Begin Patch\n${each((i) => `*** Add File: f${i}.ts\n${body.replace(/^/gm, "+").slice(0, -1)}`).join("")}*** End Patch\n`,
  };
  const rows: Row[] = [];
  const script = join(import.meta.dir, "parse-one.ts");
  const peak = (args: readonly string[]) =>
    Number(
      spawnSync("/usr/bin/time", ["-f", "%M", process.execPath, script, ...args], { encoding: "utf8" })
        .stderr.trim()
        .split("\n")
        .at(-1),
    ) / 1024;
  const empty = peak([]);
  for (const [format, make] of Object.entries(texts)) {
    const file = join(folder, format);
    const text = make();
    writeFileSync(file, text);
    const megabytes = text.length / 1024 / 1024;
    const ratio = (peak([file]) - empty) / megabytes;
    rows.push({
      name: `parsing ${megabytes.toFixed(0)} MB of ${format}: memory / its size`,
      figure: ratio.toFixed(1),
      target: "≤ 4",
      ok: ratio <= 4,
    });
  }
  remove(folder);
  return rows;
}
