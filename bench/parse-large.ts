import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Row, summarize } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const BYTES = 50 * 1024 * 1024;
const LINE = "const value = 'some source text that is neither short nor long';\n";

const lines = (tag: string, count: number) => (tag + LINE).repeat(count);
const hunk = (added: string) => `${lines(" ", 3)}-${LINE}+${added}${LINE}${lines(" ", 3)}`;

/** One operation of a patch; each format once with large ones and once with as many small ones as fit. */
const OPERATIONS: Readonly<Record<string, (i: number) => string>> = {
  "JSON, large": (i) => json(i, lines("", 800)),
  "JSON, small": (i) => json(i, lines("", 9)),
  "Markdown, large": (i) => `\`\`\`ts:f${i}.ts\n${lines("", 800)}\`\`\`\n\n`,
  "Markdown, small": (i) => `\`\`\`ts:f${i}.ts\n${lines("", 9)}\`\`\`\n\n`,
  "diff, large": (i) => `--- /dev/null\n+++ b/f${i}.ts\n@@ -0,0 +1,800 @@\n${lines("+", 800)}`,
  "diff, small": (i) => `--- a/f${i}.ts\n+++ b/f${i}.ts\n@@ -10,7 +10,7 @@\n${hunk("")}`,
  "diff, small, Japanese": (i) => `--- a/f${i}.ts\n+++ b/f${i}.ts\n@@ -10,7 +10,7 @@\n${hunk("値は")}`,
  "V4A, large": (i) => `*** Add File: f${i}.ts\n${lines("+", 800)}`,
  "V4A, small": (i) => `*** Update File: f${i}.ts\n@@\n${hunk("")}`,
  "SEARCH/REPLACE, large": (i) => searchReplace(i, 400),
  "SEARCH/REPLACE, small": (i) => searchReplace(i, 4),
};

function json(i: number, content: string): string {
  return JSON.stringify({ type: "file_edit", action: "update", target: `f${i}.ts`, content });
}

function searchReplace(i: number, count: number): string {
  return `f${i}.ts\n<<<<<<< SEARCH\n${lines("", count)}=======\n${lines("", count)}>>>>>>> REPLACE\n`;
}

function patchOf(format: string, operation: (i: number) => string): string {
  const parts: string[] = [];
  for (let i = 0, size = 0; size < BYTES; i++) {
    const part = operation(i);
    parts.push(part);
    size += Buffer.byteLength(part);
  }
  if (format.startsWith("JSON")) return `[${parts.join(",")}]`;
  return format.startsWith("V4A") ? `*** Begin Patch\n${parts.join("")}*** End Patch\n` : parts.join("");
}

/** Peak memory of parsing a 50 MB patch in each format, less that of an empty program. */
export async function parseLarge(): Promise<Row[]> {
  if (!existsSync("/usr/bin/time")) throw new Error("/usr/bin/time is missing");
  const folder = tempFolder("parse");
  const script = join(import.meta.dir, "parse-one.ts");
  const peak = (args: readonly string[]) => {
    const ran = spawnSync("/usr/bin/time", ["-f", "%M", process.execPath, script, ...args], {
      encoding: "utf8",
    });
    if (ran.status !== 0) throw new Error(ran.stderr.slice(0, 200));
    return Number(ran.stderr.trim().split("\n").at(-1)) * 1024;
  };
  const empty = peak([]);
  const rows: Row[] = [];
  for (const [format, operation] of Object.entries(OPERATIONS)) {
    const file = join(folder, "patch");
    const text = patchOf(format, operation);
    writeFileSync(file, text);
    const size = Buffer.byteLength(text);
    const ratio = summarize([1, 2, 3].map(() => (peak([file]) - empty) / size));
    rows.push({
      name: `parsing 50 MB (${format} operations): memory / its size`,
      figure: `${ratio.median.toFixed(1)} (${ratio.low.toFixed(1)}–${ratio.high.toFixed(1)})`,
      target: "≤ 4",
      ok: ratio.median <= 4,
    });
  }
  remove(folder);
  return rows;
}
