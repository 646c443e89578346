import { afterEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { remoteHosts, userAddresses, workspaceHosts } from "../../src/config/named-hosts.ts";
import { hostsOf, readNamedHosts } from "../../src/wiring/named-hosts.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-named-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

describe("the addresses of the user's own settings", () => {
  test.each([
    [".npmrc", "proxy=http://not.example\nregistry=https://a.example/npm/\n", "https://a.example/npm/"],
    [".npmrc", "@team:registry = http://b.example:4873\n", "http://b.example:4873"],
    [".config/pip/pip.conf", "[global]\nindex-url = https://c.example/simple\n", "https://c.example/simple"],
    [".config/go/env", "GOPROXY=https://d.example,direct\n", "https://d.example"],
    [".cargo/config.toml", '[registries.x]\nindex = "sparse+https://e.example/"\n', "https://e.example/"],
    [".m2/settings.xml", "<mirror><url>https://f.example/m2</url></mirror>\n", "https://f.example/m2"],
    [".yarnrc.yml", 'npmRegistryServer: "https://g.example"\n', "https://g.example"],
  ])("in %s", (path, text, address) => {
    expect(userAddresses({ HOME: folderOf({ [path]: text }) })).toEqual([address]);
  });

  test("in variables", () => {
    const env = { GOPROXY: "https://a.example|https://b.example,direct", PIP_INDEX_URL: "https://c.example" };
    expect(userAddresses({ HOME: folderOf({}), ...env })).toEqual([
      "https://a.example",
      "https://b.example",
      "https://c.example",
    ]);
  });
});

describe("the hosts of a workspace", () => {
  const config = (...urls: string[]) =>
    urls
      .map((url, i) => `[remote "r${i}"]\n\turl = ${url}\n[branch "b"]\n\turl = https://no.example\n`)
      .join("");

  test("are those of its remotes, however they are written", () => {
    const folder = folderOf({
      ".git/config": config(
        "https://user:word@A.example/x.git",
        "git@b.example:x/y.git",
        "ssh://git@c.example:2222/x",
        "/srv/git/x.git",
        "https://d.example:8443/x",
      ),
    });
    const git = join(folder, ".git");
    expect(remoteHosts(git)).toEqual(["a.example", "b.example", "c.example", "d.example:8443"]);
    expect(remoteHosts(null)).toEqual([]);
  });

  test("are found from a worktree and from a package of the repository", () => {
    const main = folderOf({ "packages/a/index.js": "" });
    const git = (...args: string[]) => execFileSync("git", ["-C", main, ...args], { stdio: "ignore" });
    git("init", "-q");
    git("remote", "add", "origin", "https://a.example/x");
    git("add", ".");
    git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one");
    const tree = join(folderOf({}), "tree");
    git("worktree", "add", "-q", tree);
    for (const folder of [main, tree, join(main, "packages/a")])
      expect(hostsOf(folder)).toEqual(["a.example"]);
  });

  test("are not those of a repository above that is not the workspace's own", () => {
    const above = folderOf({ "other/file": "", "packages/a/index.js": "" });
    const git = (...args: string[]) => execFileSync("git", ["-C", above, ...args], { stdio: "ignore" });
    git("init", "-q");
    git("remote", "add", "origin", "https://a.example/x");
    git("add", "other");
    const workspace = join(above, "packages/a");
    expect(hostsOf(workspace)).toEqual([]);
    expect(readNamedHosts({}, { home: above, workspace }).remotes).toEqual([]);
    git("add", "packages");
    expect(readNamedHosts({}, { home: above, workspace }).remotes).toEqual(["a.example"]);
  });

  test("include those that its files name", () => {
    const folder = folderOf({
      ".npmrc": "registry=https://a.example:8443/\n",
      "pyproject.toml": '[[tool.uv.index]]\nurl = "https://b.example/simple"\n',
      "requirements.txt": "--extra-index-url https://c.example/simple\nsix\n",
      "pom.xml": "<repository><url>https://d.example/m2</url></repository>\n",
    });
    expect(workspaceHosts(folder, null)).toEqual(["a.example:8443", "b.example", "c.example", "d.example"]);
  });
});
