import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newProgramSettings, parseGitConfig, runsPrograms } from "../../../src/domain/policy/git-config.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { runs } from "../../require.ts";

type Settings = readonly (readonly [name: string, value: string])[];

const TEXTS: readonly (readonly [name: string, text: string, settings: Settings])[] = [
  ["a section and a key", "[core]\n\tbare = false\n", [["core.bare", "false"]]],
  ["names in lower case, subsections as written", '[Remote "Up"]\nURL = x', [["remote.Up.url", "x"]]],
  ["the old dotted form", "[branch.Main]\nremote=o", [["branch.main.remote", "o"]]],
  ["a key beside its section", "[core] hooksPath = x", [["core.hookspath", "x"]]],
  ["a key without a value is true", "[core]\nbare\n", [["core.bare", "true"]]],
  [
    "comments",
    "# one\n[a]\nb = c # d\ne = f ; g\n; h\n",
    [
      ["a.b", "c"],
      ["a.e", "f"],
    ],
  ],
  ["quotes keep comment signs and blanks", '[a]\nb = " #c; "\n', [["a.b", " #c; "]]],
  ["escapes", '[a]\nb = "x\\n\\t\\"\\\\"\n', [["a.b", 'x\n\t"\\']]],
  ["a continued line", "[alias]\nx = !sh \\\n  -c evil\n", [["alias.x", "!sh   -c evil"]]],
  ["CRLF and a byte order mark", "\ufeff[a]\r\nb = c\r\n", [["a.b", "c"]]],
  ["escapes in a subsection", '[url "a\\"b"]\ninsteadOf = x', [['url.a"b.insteadof', "x"]]],
  ["what is no section is passed over", "garbage\n[a]\nb=c\n[[x\n", [["a.b", "c"]]],
  ["an empty file", "", []],
];

describe("git's configuration", () => {
  test.each(TEXTS)("%s", (_name, text, settings) => {
    expect(parseGitConfig(text)).toEqual(settings.map(([name, value]) => ({ name, value })));
  });

  test("reading it never throws and is linear", () => {
    const piece = fc.oneof(
      fc.constantFrom("[", "]", '"', "\\", "\n", "=", "#", ";", "[a]", '[a "', "x = ", "\0", "\r\n"),
      fc.string(),
    );
    const property = fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      for (const { name } of parseGitConfig(pieces.join(""))) expect(name).toContain(".");
    });
    fc.assert(property, { numRuns: runs(500) });
    const began = cpuTimeMs();
    for (const text of [
      `[a]\n${"b = c\n".repeat(50_000)}`,
      "[".repeat(200_000),
      `[a]\nb = ${'"\\n'.repeat(100_000)}`,
    ])
      parseGitConfig(text);
    expect(cpuTimeMs() - began).toBeLessThan(2000);
  });
});

const RUNS: readonly (readonly [setting: string, runs: boolean])[] = [
  ["core.hookspath=x", true],
  ["core.fsmonitor=x", true],
  ["core.sshcommand=x", true],
  ["core.editor=x", true],
  ["core.pager=x", true],
  ["core.gitproxy=x", true],
  ["core.worktree=/", true],
  ["core.attributesfile=/x", true],
  ["include.path=x", true],
  ["includeif.gitdir:/x.path=x", true],
  ["filter.lfs.clean=x", true],
  ["filter.lfs.process=x", true],
  ["diff.external=x", true],
  ["diff.word.textconv=x", true],
  ["merge.ours.driver=x", true],
  ["credential.helper=x", true],
  ["credential.https://x.helper=x", true],
  ["gpg.program=x", true],
  ["gpg.ssh.program=x", true],
  ["pager.log=x", true],
  ["difftool.x.cmd=x", true],
  ["mergetool.x.cmd=x", true],
  ["sequence.editor=x", true],
  ["uploadpack.packobjectshook=x", true],
  ["remote.o.uploadpack=x", true],
  ["remote.o.url=ext::sh -c x", true],
  ["url.ext::x.insteadof=y", true],
  ["protocol.ext.allow=always", true],
  ["alias.x=!evil", true],
  ["submodule.x.update=!evil", true],
  ["alias.st=status", false],
  ["submodule.x.update=rebase", false],
  ["remote.o.url=https://example.com/x", false],
  ["remote.o.fetch=+refs/heads/*:refs/remotes/o/*", false],
  ["user.name=x", false],
  ["core.bare=false", false],
  ["branch.main.merge=refs/heads/main", false],
  ["commit.gpgsign=true", false],
];

describe("settings that run programs", () => {
  test.each(RUNS)("%s: %p", (setting, expected) => {
    const at = setting.indexOf("=");
    expect(runsPrograms({ name: setting.slice(0, at), value: setting.slice(at + 1) })).toBe(expected);
  });

  test("only new ones and changed ones are named", () => {
    const before = "[core]\nsshCommand = mine\n[alias]\na = !mine\n";
    const after = "[core]\nsshCommand = mine\n[alias]\na = !other\n[user]\nname = x\n";
    expect(newProgramSettings(before, after)).toEqual([{ name: "alias.a", value: "!other" }]);
  });
});
