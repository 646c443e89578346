/**
 * Pages that people follow are carried out as written. Of each page, in order and in one workspace with a home of its own:
 * a block ```` ```LANG file=PATH ```` or a comment `<!-- file=PATH` is written to that file (`~/` is the home), a `console` block is run and must print what it
 * shows (`…` alone on a line stands for lines that are left out), a block ```` ```console of=COMMAND ```` is what `picoclaw COMMAND` prints, and of a `sh` block, which needs what a test has not
 * (keys, accounts), every `picoclaw` command must exist with its options.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { requirePart } from "../require.ts";

const root = join(import.meta.dir, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "picoclaw-pages-"));
afterAll(() => removeTree(folder));

interface Block {
  readonly kind: string;
  readonly file: string | undefined;
  /** The command whose whole output it is. */
  readonly of: string | undefined;
  readonly text: string;
}

const pages = [
  "docs/install.md",
  ...[".", "docs/tutorials", "docs/ja", "docs/ja/tutorials"].flatMap((place) =>
    list(join(root, place))
      .map((name) => join(place, name))
      .filter((page) => page.includes("/") || page.startsWith("README")),
  ),
];

describe.each(pages)("%s", (page) => {
  const blocks = blocksOf(readFileSync(join(root, page), "utf8"));
  const japanese = page.startsWith("docs/ja") || page.endsWith(".ja.md");
  const place = join(folder, page.replaceAll("/", "-"));
  const [workspace, user] = [join(place, "project"), join(place, "user")];
  const env = {
    PATH: `${join(root, "bin")}:${process.env.PATH}`,
    HOME: user,
    LANG: japanese ? "ja_JP.UTF-8" : "en_US.UTF-8",
    TZ: "UTC",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };

  if (blocks.some(({ kind }) => kind === "console") && requirePart("bwrap"))
    test("prints what it shows", () => {
      mkdirSync(workspace, { recursive: true });
      mkdirSync(user, { recursive: true });
      for (const { kind, file, of, text } of blocks) {
        if (file !== undefined) write(file.replace(/^~/, user), workspace, text);
        if (kind !== "console") continue;
        const commands = of === undefined ? commandsOf(text) : [{ command: `picoclaw ${of}`, shown: text }];
        for (const { command, shown } of commands) {
          const ran = spawnSync("bash", ["-c", `${command} ${of === undefined ? "2>&1" : "2>/dev/null"}`], {
            cwd: workspace,
            env,
            encoding: "utf8",
          });
          expect(`$ ${command}\n${steady(ran.stdout)}`).toMatch(
            new RegExp(`^${pattern(`$ ${command}\n${steady(shown)}`)}$`),
          );
        }
      }
    }, 300_000);

  test("names only commands and options that there are", () => {
    const calls = blocks
      .filter(({ kind }) => kind === "sh" || kind === "console")
      .flatMap(({ text }) => [...text.matchAll(/(?:^|[\s;&|(])picoclaw ([a-z]+)([^\n;&|#)]*)/g)]);
    for (const [, command = "", rest = ""] of calls) {
      const help = helpOf(command);
      expect([command, help.status]).toEqual([command, 0]);
      for (const [option] of rest.matchAll(/(?<=\s)--[a-z-]+/g)) expect(help.stdout).toContain(option);
    }
  });

  test("links lead somewhere", () => {
    const text = readFileSync(join(root, page), "utf8");
    for (const [, path = ""] of text.matchAll(/\]\((?!https?:)([\w./-]+)(?:#[^)]*)?\)/g))
      expect([path, existsSync(join(root, dirname(page), path))]).toEqual([path, true]);
  });
});

const helps = new Map<string, { status: number | null; stdout: string }>();
function helpOf(command: string) {
  const known = helps.get(command);
  if (known !== undefined) return known;
  const env = { PATH: process.env.PATH ?? "", HOME: folder, LANG: "en_US.UTF-8" };
  const asked = spawnSync(join(root, "bin/picoclaw"), [command, "--help"], { env, encoding: "utf8" });
  helps.set(command, asked);
  return asked;
}

function list(place: string): string[] {
  try {
    return readdirSync(place).filter((name) => name.endsWith(".md"));
  } catch {
    return [];
  }
}

function blocksOf(page: string): Block[] {
  const fences = /^(`{3,})(\w*)(?: file=(\S+))?(?: of=(\S+))?\n([\s\S]*?)^\1$/gm;
  const comments = /^<!-- file=(\S+)\n([\s\S]*?)^-->$/gm;
  const found = [
    ...[...page.matchAll(fences)].map((match) => {
      const [, , kind = "", file, of, text = ""] = match;
      return { index: match.index, block: { kind, file, of, text } };
    }),
    ...[...page.matchAll(comments)].map((match) => {
      const [, file, text = ""] = match;
      return { index: match.index, block: { kind: "", file, of: undefined, text } };
    }),
  ];
  return found.sort((a, b) => a.index - b.index).map(({ block }) => block);
}

function write(file: string, workspace: string, text: string): void {
  const path = file.startsWith("/") ? file : join(workspace, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function commandsOf(transcript: string): { command: string; shown: string }[] {
  return transcript
    .split(/^\$ /m)
    .slice(1)
    .map((part) => ({
      command: part.slice(0, part.indexOf("\n")),
      shown: part.slice(part.indexOf("\n") + 1),
    }));
}

/** Parts of an output that differ from run to run. */
function steady(text: string): string {
  return text
    .replace(/job_\d+_\w{8}/g, "JOB")
    .replace(/\d+(?:\.\d+)? ?m?s\b/g, "N ms")
    .replace(/\d+ 秒/g, "N 秒")
    .replace(/(?<="duration_ms": )\d+/g, "N")
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, "WHEN");
}

function pattern(shown: string): string {
  return shown
    .split("\n")
    .map((line) => (line === "…" ? "(?:.*\\n)*?.*" : line.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")))
    .join("\n");
}
