import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeAnswer } from "../../fakes/fake-models.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { git, pushCommit, seedRepository } from "../../fakes/forges/seed-repository.ts";
import {
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Repository,
  type World,
} from "../../fakes/forges/world.ts";
import { proposal } from "./chat-kit.ts";
import { type ConversationOptions, type OpenedConversation, openConversation } from "./conversation-kit.ts";

const WORDS = JSON.stringify({
  title: "Say hello politely",
  body: "The greeting was rude.",
  branch: "polite hello",
});

let folder: string;
let world: World;
let repository: Repository;
let server: ReturnType<typeof startGitHub>;
let at: OpenedConversation;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-pulls-")));
  world = createWorld();
  repository = addRepository(world, "acme/calc", seedRepository(folder, { "hello.txt": "oi\n" }));
  server = startGitHub(world);
});
afterEach(async () => {
  await at.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A clone of the repository, with one change that is not committed. */
async function openClone(
  options: ConversationOptions & { readonly token?: string; readonly answer?: FakeAnswer } = {},
) {
  const config = `forges:\n  github: { base_url: "${server.url}/api/v3" }\n`;
  at = await openConversation(() => options.answer ?? WORDS, {
    config,
    ...options,
    env: options.token === "" ? {} : { GITHUB_PERSONAL_ACCESS_TOKEN: options.token ?? world.token },
  });
  git(at.workspace, "clone", "--quiet", repository.folder ?? "", ".");
  git(at.workspace, "remote", "set-url", "origin", `${server.url}/acme/calc.git`);
  git(at.workspace, "config", "user.name", "Alice");
  git(at.workspace, "config", "user.email", "alice@example.org");
  at.write("hello.txt", "hello\n");
  at.write("new.txt", "new\n");
  at.write(".env", "KEY=1\n");
  return at;
}

const pulls = () => [...repository.items.values()].filter(({ kind }) => kind === "pull");
const pushed = (...args: string[]) => git(repository.folder ?? "", ...args);

describe("a pull request from a chat", () => {
  test("a branch, a commit about the change, a push, and its address", async () => {
    await openClone();
    const reply = await at.send("open a pull request");
    expect(reply.text).toContain(`Pull request opened: ${server.url}/acme/calc/pull/1`);
    expect(reply.ok).toBe(true);
    expect(pulls()).toMatchObject([
      { title: "Say hello politely", pull: { head: "picoclaw/polite-hello", base: "main" } },
    ]);
    expect(pushed("log", "-1", "--format=%s", "picoclaw/polite-hello")).toBe("Say hello politely");
    expect(pushed("ls-tree", "--name-only", "picoclaw/polite-hello")).toBe("hello.txt\nnew.txt");
    expect(git(at.workspace, "branch", "--show-current")).toBe("picoclaw/polite-hello");
    expect(world.violations).toEqual([]);
    // Asked for again, the same pull request has what came since.
    at.write("more.txt", "more\n");
    expect((await at.send("/pr")).text).toContain(`Pull request updated: ${server.url}/acme/calc/pull/1`);
    expect(pulls()).toHaveLength(1);
    expect(pushed("ls-tree", "--name-only", "picoclaw/polite-hello")).toContain("more.txt");
    // The commits are jobs like any other.
    await at.send("/undo");
    expect((await at.send("/undo")).ok).toBe(true);
    expect(git(at.workspace, "branch", "--show-current")).toBe("main");
    expect(at.read("hello.txt")).toBe("hello\n");
  });

  test("no model: the words are those of the work", async () => {
    await openClone({ answer: { fails: "unreachable" } });
    expect((await at.send("/pr --draft")).ok).toBe(true);
    expect(pulls()).toMatchObject([{ title: "Change hello.txt, new.txt", pull: { draft: true } }]);
  });

  test("in dry mode nothing happens", async () => {
    await openClone();
    await at.send("/dry on");
    expect((await at.send("/pr")).text).toContain(
      "Would open a pull request from picoclaw/polite-hello to main",
    );
    expect([pulls(), git(at.workspace, "branch", "--show-current")]).toEqual([[], "main"]);
  });
});

describe("a local commit", () => {
  test("/commit takes the staged changes, asks no forge, pushes nothing, and is undone", async () => {
    await openClone();
    git(at.workspace, "add", "new.txt");
    const before = git(at.workspace, "rev-parse", "HEAD");
    const reply = await at.send("/commit");
    expect(reply.text).toStartWith(
      "Committed 1 file: Say hello politely\nNot in it: 2 files with other changes.",
    );
    expect(reply.ok).toBe(true);
    expect(git(at.workspace, "log", "-1", "--format=%s", "--name-only")).toBe(
      "Say hello politely\n\nnew.txt",
    );
    expect(git(at.workspace, "branch", "--show-current")).toBe("main");
    expect(pushed("rev-parse", "main")).toBe(before);
    expect((await at.send("/undo")).ok).toBe(true);
    expect(git(at.workspace, "rev-parse", "HEAD")).toBe(before);
    expect(git(at.workspace, "status", "--short", "new.txt")).toBe("A  new.txt");
  });

  test("with nothing staged it is the last change of this chat, in the words that were given", async () => {
    await openClone({ answer: proposal("Write", "```txt:a b.txt\nx\n```") });
    expect(await at.send("/code write it")).toMatchObject({ ok: true });
    expect((await at.send("/commit Add a file")).text).toStartWith("Committed 1 file: Add a file");
    expect(git(at.workspace, "log", "-1", "--format=%s", "--name-only")).toBe("Add a file\n\na b.txt");
    expect((await at.send("/commit again")).text).toContain("the 3 files with changes are not this chat's");
  });

  test("without a repository it says so", async () => {
    at = await openConversation(() => WORDS);
    expect((await at.send("/commit")).text).toBe("No commit: this folder is not a git repository.");
  });
});

/** A folder whose remote was added by hand, with rights of its own and no token: nothing says which branch is the default. */
async function openByHand(branch: string, isFetched: boolean) {
  at = await openConversation(() => ({ fails: "unreachable" }), {
    config: `forges:\n  github: { base_url: "${server.url}/api/v3" }\n`,
    env: {},
  });
  git(at.workspace, "init", "--quiet", `--initial-branch=${branch}`);
  git(at.workspace, "remote", "add", "origin", repository.folder ?? "");
  git(at.workspace, "pull", "--quiet", "origin", branch);
  if (isFetched) git(at.workspace, "fetch", "--quiet");
  else git(at.workspace, "update-ref", "-d", `refs/remotes/origin/${branch}`);
  const signedIn = server.url.replace("://", `://alice:${world.token}@`);
  git(at.workspace, "remote", "set-url", "origin", `${signedIn}/acme/calc.git`);
  git(at.workspace, "config", "user.name", "Alice");
  git(at.workspace, "config", "user.email", "alice@example.org");
  at.write("hello.txt", "hello\n");
}

describe("without a token", () => {
  test.each([
    ["master", false],
    ["trunk", true],
  ])(
    "the remote is asked for its default branch, and nothing is pushed to it: %s",
    async (branch, isFetched) => {
      pushed("branch", "--move", "main", branch);
      const before = pushed("rev-parse", branch);
      await openByHand(branch, isFetched);
      const reply = await at.send("/pr Say hello");
      expect(reply.text).toContain("The branch picoclaw/say-hello was pushed");
      expect(reply.text).toContain("what was pushed stays on the forge");
      expect(pushed("rev-parse", branch)).toBe(before);
      expect(pushed("log", "-1", "--format=%s", "picoclaw/say-hello")).toBe("Say hello");
      // The same branch again, also where the forge does not say which is its default.
      pushed("update-ref", "--no-deref", "HEAD", before);
      at.write("more.txt", "more\n");
      expect((await at.send(`/pr --base ${branch} More`)).text).toContain(
        "The branch picoclaw/say-hello was pushed",
      );
      const undone = await at.send("/undo");
      expect([undone.ok, undone.text]).toEqual([
        true,
        expect.stringContaining("Undo does not cover: what was pushed to the forge"),
      ]);
    },
  );

  test("a branch is not pushed to while the default branch is unknown", async () => {
    pushed("branch", "--move", "main", "stable");
    pushed("branch", "main", "stable");
    pushed("update-ref", "--no-deref", "HEAD", pushed("rev-parse", "stable"));
    await openByHand("stable", true);
    const before = pushed("rev-parse", "stable");
    expect((await at.send("/pr Say hello")).text).toContain("The branch picoclaw/say-hello was pushed");
    expect(pushed("rev-parse", "stable")).toBe(before);
  });

  test("a default branch that was renamed since the clone", async () => {
    await openByHand("main", true);
    git(at.workspace, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
    pushed("branch", "next", "main");
    pushed("symbolic-ref", "HEAD", "refs/heads/next");
    git(at.workspace, "checkout", "--quiet", "-b", "next");
    const before = pushed("rev-parse", "next");
    expect((await at.send("/pr Say hello")).text).toContain("The branch picoclaw/say-hello was pushed");
    expect(pushed("rev-parse", "next")).toBe(before);
  });

  test("a branch that the forge has keeps its name", async () => {
    await openByHand("main", true);
    pushed("branch", "picoclaw/say-hello", "main");
    pushCommit(repository.folder ?? "", "picoclaw/say-hello", { "theirs.txt": "theirs\n" });
    expect((await at.send("/pr Say hello")).text).toContain("The branch picoclaw/say-hello-2 was pushed");
  });

  test("the user's own branch is pushed as it is", async () => {
    await openByHand("main", true);
    git(at.workspace, "checkout", "--quiet", "-b", "feature");
    expect((await at.send("/pr Say hello")).text).toContain("The branch feature was pushed");
  });

  test("commits beyond a base that was never fetched are work to propose", async () => {
    pushed("branch", "--move", "main", "master");
    await openByHand("master", false);
    expect(git(at.workspace, "for-each-ref", "refs/remotes")).toBe("");
    git(at.workspace, "commit", "--quiet", "--all", "--message", "polite");
    expect((await at.send("/pr Say hello")).text).toContain("The branch picoclaw/say-hello was pushed");
  });

  test("wrong usage and a missing base are reported, and nothing is done", async () => {
    await openByHand("main", true);
    const before = [pushed("for-each-ref"), git(at.workspace, "for-each-ref")];
    for (const wrong of ["/pr --bad", "/pr --base", "/pr --base --draft", "/pr Fix it --drfat"]) {
      const reply = await at.send(wrong);
      expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("Usage: /pr [--draft]")]);
    }
    const reply = await at.send("/pr --base nosuch Fix it");
    expect([reply.ok, reply.text]).toEqual([false, "No pull request: acme/calc has no branch nosuch."]);
    expect([pushed("for-each-ref"), git(at.workspace, "for-each-ref")]).toEqual(before);
  });
});

describe("a pull request is reviewed", () => {
  test("by its number; the coder's words are posted where that is asked for", async () => {
    await openClone({ answer: "Do not merge: hello.txt:1 is rude." });
    git(at.workspace, "checkout", "--quiet", "-b", "rude");
    git(at.workspace, "commit", "--quiet", "--all", "--message", "rude");
    git(at.workspace, "push", "--quiet", repository.folder ?? "", "rude");
    const author = addPerson(world, "eve");
    const head = {
      head: "rude",
      headRepository: "acme/calc",
      headCommit: pushed("rev-parse", "rude"),
      base: "main",
    };
    const item = addItem(repository, { kind: "pull", title: "Rude", body: "", author, pull: head });
    const silent = await at.send("review PR #1");
    expect([silent.ok, item.comments]).toEqual([true, []]);
    expect(JSON.stringify(at.asked.at(-1)?.messages)).toContain("+hello");
    const reply = await at.send("review pull request #1 and post it");
    expect(reply.text).toContain(`The review was posted: ${server.url}/acme/calc/pull/1`);
    expect(item.comments.map(({ body }) => body)).toEqual(["Do not merge: hello.txt:1 is rude."]);
    expect((await at.send("/review #99 --post")).text).toContain("No pull request");
    expect((await at.send("/review main --post")).text).toContain("/review #12 --post");
  });
});

describe("a refusal says why, and nothing is changed", () => {
  afterEach(() => {
    expect(pulls()).toEqual([]);
  });

  test("no repository, no commit, no remote", async () => {
    at = await openConversation(() => WORDS);
    expect((await at.send("/pr")).text).toBe("No pull request: this folder is not a git repository.");
    git(at.workspace, "init", "--quiet", "--initial-branch=main");
    expect((await at.send("/pr")).text).toBe("No pull request: the repository has no commit yet.");
    at.write("a.txt", "a\n");
    git(at.workspace, "add", "--all");
    git(at.workspace, "commit", "--quiet", "--message", "first");
    expect((await at.send("/pr")).text).toContain("the repository has no remote");
    git(at.workspace, "remote", "add", "origin", "/srv/elsewhere.git");
    expect((await at.send("/pr")).text).toContain("neither GitHub nor GitLab");
  });

  test("nothing to propose", async () => {
    await openClone();
    git(at.workspace, "checkout", "--quiet", "hello.txt");
    rmSync(join(at.workspace, "new.txt"));
    const reply = await at.send("/pr");
    expect([reply.ok, reply.text]).toEqual([
      false,
      "Nothing to propose: everything here is already in main. Protected files are never committed: .env",
    ]);
  });

  test("without a token, and with the user's git not allowed to push, the commit is reverted", async () => {
    await openClone({ token: "" });
    const before = at.tree();
    const reply = await at.send("/pr");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain(
      "There is no token for GitHub: set GITHUB_TOKEN or GITHUB_PERSONAL_ACCESS_TOKEN. Nothing was changed.",
    );
    expect(git(at.workspace, "branch", "--show-current")).toBe("main");
    expect(at.read("hello.txt")).toBe("hello\n");
    expect(Object.keys(at.tree())).toEqual(Object.keys(before));
  });

  test("a wrong token, a repository that is not there, a base that is not there", async () => {
    await openClone({ token: "wrong-token-123" });
    expect((await at.send("/pr")).text).toContain("GitHub does not accept the token");
    await at.close();
    await openClone();
    expect((await at.send("/pr --base nosuch")).text).toBe(
      "No pull request: acme/calc has no branch nosuch.",
    );
    git(at.workspace, "remote", "set-url", "origin", `${server.url}/acme/nosuch.git`);
    expect((await at.send("/pr")).text).toContain("acme/nosuch does not exist on GitHub");
  });

  test("a branch that the forge protects from all users", async () => {
    await openClone();
    const hooks = join(repository.folder ?? "", "hooks");
    mkdirSync(hooks, { recursive: true });
    writeFileSync(
      join(hooks, "pre-receive"),
      "#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n",
      { mode: 0o755 },
    );
    const reply = await at.send("/pr");
    expect(reply.text).toContain("GitHub protects the branch picoclaw/polite-hello");
    expect(git(at.workspace, "branch", "--show-current")).toBe("main");
  });

  test("a secret of the configuration in the change", async () => {
    await openClone();
    at.write("leak.txt", `${world.token}\n`);
    expect((await at.send("/pr")).text).toContain("the change contains one of your secrets");
    expect(pushed("branch", "--list")).not.toContain("picoclaw");
  });

  test("what the repository's own settings name is not run", async () => {
    await openClone();
    const trap = join(folder, "trapped");
    writeFileSync(join(folder, "trap"), `#!/bin/sh\ntouch ${trap}\nexit 1\n`, { mode: 0o755 });
    for (const name of ["core.fsmonitor", "core.sshCommand", "credential.helper", "core.askPass"])
      git(at.workspace, "config", name, join(folder, "trap"));
    git(at.workspace, "remote", "set-url", "origin", "ssh://git@127.0.0.1:1/acme/calc.git");
    await at.send("/pr --base nosuch");
    expect(await Bun.file(trap).exists()).toBe(false);
  });
});
