import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { scripts } from "../../package.json";

const root = join(import.meta.dir, "..", "..");
const READMES = ["README.md", "README.ja.md"];
const textOf = (name: string) => readFileSync(join(root, name), "utf8");

/** transcripts.test.ts holds the output of its blocks. */
test.each(READMES)("every document that %s names is there", (name) => {
  for (const [, path] of textOf(name).matchAll(/\]\(([\w./-]+)(?:#[^)]*)?\)/g))
    expect([path, Bun.file(join(root, path as string)).size > 0]).toEqual([path as string, true]);
});

test.each(READMES)(
  "%s: a sentence, a picture, an install line, the demo; nothing to learn before it",
  (name) => {
    const text = textOf(name);
    const order = ["\n**", "\n![", "npm ci && bin/picoclaw demo", "console of=demo", "› /undo", "\n## "];
    const places = order.map((mark) => text.indexOf(mark));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    const untilSuccess = text.slice(0, text.indexOf("\n## "));
    expect(untilSuccess).not.toMatch(/\b(?:Mio|Shiro|Aka|Ao|Gin)\b|\/code\d|job_\d/);
    expect(untilSuccess).toMatch(/does not land|適用されません/);
    expect(untilSuccess).toMatch(/in parallel|並行して/);
  },
);

test.each(READMES)("%s: every npm command is a script of the package", (name) => {
  const commands = [...textOf(name).matchAll(/\bnpm (?:run )?([a-z-]+)/g)].map(([, script = ""]) => script);
  expect(commands).toContain("start");
  for (const command of commands) expect(["ci", ...Object.keys(scripts)]).toContain(command);
});
