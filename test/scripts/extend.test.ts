/** What CONTRIBUTING promises: one more channel or patch format is a file and a line. Tried on a copy of the sources. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
let copy = "";

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "picoclaw-extend-"));
  cpSync(join(ROOT, "src"), join(copy, "src"), { recursive: true });
  for (const name of ["node_modules", "package.json", "tsconfig.json"])
    symlinkSync(join(ROOT, name), join(copy, name));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function addLine(path: string, after: string, line: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text).toContain(after);
  writeFileSync(join(copy, path), text.replace(after, `${after}${line}`));
}

function addToList(path: string, list: RegExp, entry: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text).toMatch(list);
  writeFileSync(
    join(copy, path),
    text.replace(list, (found) => found.replace(/\]$/, `, ${entry}]`)),
  );
}

function run(script: string): string {
  const child = Bun.spawnSync([process.execPath, "--no-env-file", "-e", script], {
    cwd: copy,
    stderr: "pipe",
  });
  expect(child.stderr.toString()).toBe("");
  return child.stdout.toString().trim();
}

test("a channel: its entry and one line; the names of commands, the API and health follow", () => {
  writeFileSync(
    join(copy, "src/adapters/channels/toy.ts"),
    `import type { ChannelEntry } from "./channel-entry.ts";
export const toy: ChannelEntry = {
  name: "toy", title: "Toy", allowedUsers: () => [], isDirect: () => true, open: async () => null,
};
`,
  );
  const registry = "src/adapters/channels/registry.ts";
  addLine(registry, 'import { telegram } from "./telegram.ts";\n', 'import { toy } from "./toy.ts";\n');
  addToList(registry, /const CHANNELS: readonly ChannelEntry\[\] = \[[^\]]*\]/, "toy");
  const names = run(`
    const { CHANNEL_NAMES, channelTitle } = await import("./src/adapters/channels/registry.ts");
    const { openApi } = await import("./src/adapters/web/openapi.ts");
    const { serveMessagesFor } = await import("./src/domain/texts/serve.ts");
    console.log(CHANNEL_NAMES.includes("toy"), channelTitle("toy"), JSON.stringify(openApi("0")).includes("toy"),
      serveMessagesFor("ja").pairUsage(CHANNEL_NAMES).includes("toy"));
  `);
  expect(names).toBe("true Toy true true");
});

test("a patch format: its file and one line; it is read raw and in a fence, and named in the result", () => {
  writeFileSync(
    join(copy, "src/domain/patch/formats/toy.ts"),
    `import type { EmbeddedFormat } from "./embedded-format.ts";
export const toyFormat: EmbeddedFormat = {
  name: "toy", initials: "%",
  isMark: (text, at, end) => text.slice(at, end).startsWith("%% write "),
  isLeadIn: () => false,
  measure: (text) => (from) => { const end = text.indexOf("%% end", from); return end < 0 ? undefined : end + 6; },
  runsToEnd: false, readsProse: false, inAnyFence: true,
  read(text) {
    const [head = "", ...body] = text.split("\\n");
    return { ok: true, warnings: [], commands: [{ type: "file_edit", action: "create", target: head.slice(9),
      content: body.slice(0, body.indexOf("%% end")).join("\\n") + "\\n" }] };
  },
};
`,
  );
  const registry = "src/domain/patch/formats/registry.ts";
  addLine(registry, 'import { v4aFormat } from "./v4a.ts";\n', 'import { toyFormat } from "./toy.ts";\n');
  addToList(registry, /const FORMATS: readonly EmbeddedFormat\[\] = \[[^\]]*\]/, "toyFormat");
  const parsed = run(`
    const { parsePatch } = await import("./src/domain/patch/parse-patch.ts");
    const raw = parsePatch("Here it is.\\n\\n%% write a.txt\\nhello\\n%% end\\n");
    const fenced = parsePatch("\`\`\`\\n%% write a.txt\\nhello\\n%% end\\n\`\`\`\\n");
    console.log(JSON.stringify([raw, fenced].map((one) => [one.format, one.commands.length, one.commands[0]?.content])));
  `);
  expect(JSON.parse(parsed)).toEqual([
    ["toy", 1, "hello\n"],
    ["toy", 1, "hello\n"],
  ]);
});
