import { describe, expect, test } from "bun:test";
import { isHarmlessSetting, revertSettings } from "../../../src/domain/policy/git-files.ts";

const SETTINGS: readonly (readonly [setting: string, mayBeSet: boolean])[] = [
  ["core.hookspath=x", false],
  ["core.fsmonitor=x", false],
  ["core.sshcommand=x", false],
  ["core.editor=x", false],
  ["core.pager=x", false],
  ["core.gitproxy=x", false],
  ["core.worktree=/", false],
  ["core.attributesfile=/x", false],
  ["include.path=x", false],
  ["includeif.gitdir:/x.path=x", false],
  ["filter.lfs.clean=x", false],
  ["filter.lfs.process=x", false],
  ["diff.external=x", false],
  ["diff.word.textconv=x", false],
  ["merge.ours.driver=x", false],
  ["credential.helper=x", false],
  ["credential.https://x.helper=x", false],
  ["gpg.program=x", false],
  ["gpg.ssh.program=x", false],
  ["pager.log=x", false],
  ["difftool.x.cmd=x", false],
  ["mergetool.x.cmd=x", false],
  ["sequence.editor=x", false],
  ["uploadpack.packobjectshook=x", false],
  ["remote.o.uploadpack=x", false],
  ["remote.o.url=ext::sh -c x", false],
  ["url.ext::x.insteadof=y", false],
  ["protocol.ext.allow=always", false],
  ["alias.x=!evil", false],
  ["submodule.x.update=!evil", false],
  ["alias.st=status", true],
  ["submodule.x.update=rebase", true],
  ["remote.o.url=https://example.com/x", true],
  ["remote.o.fetch=+refs/heads/*:refs/remotes/o/*", true],
  ["user.name=x", true],
  ["core.bare=false", true],
  ["branch.main.merge=refs/heads/main", true],
  ["commit.gpgsign=true", true],
  ["protocol.allow=always", false],
  ["branch.main.remote=ext::sh -c evil", false],
  ["branch.main.remote=-x", false],
  ["branch.main.mergeoptions=-s evil", false],
  ["alias.st=-c core.fsmonitor=evil status", false],
  ["alias.d=difftool --extcmd=evil", false],
  ["alias.r=rebase -x evil", false],
  ["alias.l=log --oneline --graph --format='%h %s'", true],
  ["tar.x.command=evil", false],
  ["gc.recentobjectshook=evil", false],
  ["gc.auto=0", true],
  ["remote.o.url=foo::bar", false],
  ["remote.o.url=foo://bar", false],
  ["remote.o.url=git@example.com:x/y.git", true],
  ["remote.o.url=../other", true],
  ["remote.o.pushurl=file:///x", true],
  ["submodule.m.url=ext::x", false],
  ["lfs.customtransfer.x.path=evil", false],
  ["core.fsmonitor=false", true],
  ["core.protectntfs=false", false],
  ["branch.a\\nb.remote=ext::x", false],
  ["extensions.worktreeconfig=true", true],
  ["anything.new=1", false],
];

describe("settings of git that a job may make", () => {
  test.each(SETTINGS)("%s: %p", (setting, expected) => {
    const at = setting.indexOf("=");
    expect(isHarmlessSetting({ name: setting.slice(0, at), value: setting.slice(at + 1) })).toBe(expected);
  });
});

describe("what may not be set is taken back", () => {
  test.each([
    ["nothing, where all may stay", "", "[user]\n\tname = x\n", null],
    [
      "one key of a section",
      "[core]\n\tbare = false\n",
      "[core]\n\tbare = false\n\tfsmonitor = evil\n\teol = lf\n",
      { names: ["core.fsmonitor"], text: "[core]\n\tbare = false\n\teol = lf\n" },
    ],
    [
      "a key beside its section",
      "",
      '[core] pager = evil\n[remote "o"] url = ../x\n',
      { names: ["core.pager"], text: '[core] \n[remote "o"] url = ../x\n' },
    ],
    [
      "a changed value, whose old one comes back",
      "[core]\n\teditor = vi\n",
      "[core]\n\teditor = evil\n[user]\n\tname = x\n",
      { names: ["core.editor"], text: '[core]\n\teditor = "vi"\n[user]\n\tname = x\n' },
    ],
    [
      "everything, down to the text that stood there",
      "[core]\n\tbare = false\n",
      "[core]\n\tbare = false\n[alias]\n\tx = !evil\n",
      { names: ["alias.x"], text: "[core]\n\tbare = false\n" },
    ],
    [
      "a continued line",
      "",
      "[alias]\n\tx = !sh \\\n  -c evil\n\tst = status\n",
      { names: ["alias.x"], text: "[alias]\n\tst = status\n" },
    ],
    [
      "the whole where settings were lost besides",
      "[core]\n\tbare = false\n[user]\n\tname = x\n",
      "[core]\n\tfsmonitor = evil\n",
      { names: ["core.fsmonitor"], text: null },
    ],
    ["the whole of what git reads in its own way", "", "[user]\nname = x\n?\n", { names: ["?"], text: null }],
    ["not what stood there already", "[alias]\n\tx = !mine\n", "[alias]\n\tx = !mine\n\ty = log\n", null],
  ] as const)("%s", (_, before, after, expected) => {
    expect(revertSettings(before, after)).toEqual(expected);
  });
});
