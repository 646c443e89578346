import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Published, Publisher, PublishRequest } from "../../application/ports/publisher.ts";
import type { LeftOutPath } from "../../domain/forges/publishable-change.ts";
import { findBroughtSecrets } from "./brought-secrets.ts";
import { changedEntries, leaveOutOfIndex } from "./change-index.ts";
import { fetchFailure, pushFailure } from "./git-failure.ts";
import { createHostGit, type GitRun, type HostGit } from "./host-git.ts";
import { findPatchTrouble } from "./patch-size.ts";
import { makePublishFolder } from "./publish-folders.ts";

export interface PublisherDeps {
  /** A folder of PicoClaw's own, where a private folder is made for each call and removed again. */
  readonly folder: string;
  readonly path: string;
  /** Proxies and certificates of the host's environment. */
  readonly passed: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** This process, so that what it leaves when it is killed can be swept. */
  readonly owner: string;
}

/** Git asks it "Username for …" and "Password for …". The token stands in a file, in nobody's environment. */
const ASKPASS = `#!/bin/sh
case "$1" in User*) printf '%s\\n' "$PICOCLAW_GIT_USER" ;; *) cat "$PICOCLAW_GIT_SECRET" ;; esac
`;

/**
 * In a bare repository of its own: fetch the base, put the patch into an index, check its paths, write the commit,
 * push it. There is no work tree, so no filter, hook or attribute of the project comes into play.
 */
export function createPublisher(parts: PublisherDeps): Publisher {
  return {
    async publish(request) {
      const trouble = findPatchTrouble(request.patch);
      if (trouble !== null) return { status: "failed", reason: "bad-patch", message: trouble };
      const folder = makePublishFolder(parts.folder, parts.owner);
      try {
        return await publishIn(folder, parts, request);
      } catch (error) {
        if (!request.signal.aborted) throw error;
        return { status: "failed", reason: "aborted", message: "aborted" };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

async function publishIn(folder: string, parts: PublisherDeps, request: PublishRequest): Promise<Published> {
  const { cloneUrl, baseCommit, baseBranch, branch, previous } = request;
  if (request.patch.length === 0) return { status: "nothing", leftOut: [] };
  const git = prepareGit(folder, parts, request);
  const init = await git.run(["init", "--quiet", "--bare", folder]);
  if (init.code !== 0) return publishFailure("other", init);
  const refs = await git.run(["ls-remote", "--heads", cloneUrl, baseBranch, branch]);
  if (refs.code !== 0) return fetchFailure(refs);
  const heads = parseRemoteHeads(refs.stdout);
  const taken = heads.get(branch) ?? null;
  const fetched = await git.run(["fetch", "--quiet", "--no-tags", "--depth=1", cloneUrl, baseCommit]);
  if (fetched.code !== 0) return fetchFailure(fetched);

  const patch = join(folder, "change.patch");
  writeFileSync(patch, request.patch);
  const applied = await commitOn(git, request, { patch, onto: baseCommit, threeWay: false });
  if (!applied.ok) return applied.published;
  const { paths, leftOut } = applied;
  let { commit } = applied;
  let base: Extract<Published, { status: "pushed" }>["base"] = "same";
  const tip = heads.get(baseBranch);
  if (tip === undefined)
    return { status: "failed", reason: "not-found", message: `the branch ${baseBranch} is gone` };
  if (tip !== baseCommit) {
    const got = await git.run(["fetch", "--quiet", "--no-tags", "--depth=1", cloneUrl, tip]);
    if (got.code !== 0) return fetchFailure(got);
  }
  if (tip !== baseCommit && tip !== previous) {
    const moved = await moveOntoBase(git, request, { patch, tip });
    if (moved === null && branch === baseBranch) return { status: "branch-taken" };
    base = moved === null ? "conflicts" : "moved";
    commit = moved ?? commit;
  }
  const brought = await protectedBetween(git, request, tip, commit);
  if (brought !== null) return brought;
  // A push that was done before a crash shows up as a branch that holds this very commit.
  if (taken === commit) return { status: "pushed", commit, paths, leftOut, base };
  const ours = taken === null || taken === previous || branch === baseBranch;
  if (!ours) return { status: "branch-taken" };
  const lease = `--force-with-lease=refs/heads/${branch}:${taken ?? ""}`;
  const push = await git.run(["push", "--porcelain", lease, cloneUrl, `${commit}:refs/heads/${branch}`]);
  return push.code === 0 ? { status: "pushed", commit, paths, leftOut, base } : pushFailure(push);
}

/**
 * The base was named by the container, and a forge hands out commits of forks as well: whatever the commit stands on, its
 * protected paths are those of the branch that the forge itself names.
 */
async function protectedBetween(
  git: HostGit,
  { isProtected }: PublishRequest,
  tip: string,
  commit: string,
): Promise<Published | null> {
  const names = await git.run(["diff-tree", "-r", "--no-renames", "--name-only", "-z", tip, commit]);
  if (names.code !== 0) return publishFailure("other", names);
  const paths = names.stdout.split("\0").filter((path) => path !== "" && isProtected(path));
  return paths.length === 0 ? null : { status: "protected", paths };
}

/** The change on the newer base; null when it does not go on cleanly. */
async function moveOntoBase(
  git: HostGit,
  request: PublishRequest,
  { patch, tip }: { readonly patch: string; readonly tip: string },
): Promise<string | null> {
  const moved = await commitOn(git, request, { patch, onto: tip, threeWay: true });
  return moved.ok ? moved.commit : null;
}

/** Its objects are not what their names say: what was checked inside is not what would be published. */
const WRONG_TREE: Published = {
  status: "failed",
  reason: "bad-patch",
  message: "the patch does not make the tree that its container named",
};

type CommitOutcome =
  | {
      readonly ok: true;
      readonly commit: string;
      readonly paths: readonly string[];
      readonly leftOut: readonly LeftOutPath[];
    }
  | { readonly ok: false; readonly published: Published };

async function commitOn(
  git: HostGit,
  request: PublishRequest,
  how: { readonly patch: string; readonly onto: string; readonly threeWay: boolean },
): Promise<CommitOutcome> {
  const stop = (published: Published): CommitOutcome => ({ ok: false, published });
  const index = `${how.patch}.${how.onto}.index`;
  const read = await git.run(["read-tree", how.onto], { index });
  if (read.code !== 0) return stop(publishFailure("other", read));
  const mode = how.threeWay ? ["--3way"] : [];
  const apply = ["apply", "--cached", "--binary", "--whitespace=nowarn", ...mode, how.patch];
  const applied = await git.run(apply, { index });
  if (applied.code !== 0) return stop(publishFailure("bad-patch", applied));
  const made = how.threeWay || request.tree === null ? null : await git.run(["write-tree"], { index });
  if (made !== null && made.stdout.trim() !== request.tree) return stop(WRONG_TREE);
  const change = { git, index, onto: how.onto };
  const left = await leaveOutOfIndex(change, request.leftOut);
  if ("failed" in left) return stop(publishFailure("other", left.failed));
  const entries = await changedEntries(change);
  if ("failed" in entries) return stop(publishFailure("other", entries.failed));
  const paths = entries.map(({ path }) => path);
  if (paths.length === 0) return stop({ status: "nothing", leftOut: left });
  const forbidden = paths.filter(request.isProtected);
  if (forbidden.length > 0) return stop({ status: "protected", paths: forbidden });
  const secret = await findBroughtSecrets(change, request.secrets);
  if ("failed" in secret) return stop(publishFailure("other", secret.failed));
  if (secret.length > 0) return stop({ status: "secret", paths: secret });
  const tree = await git.run(["write-tree"], { index });
  if (tree.code !== 0) return stop(publishFailure("other", tree));
  const commit = await git.run(["commit-tree", tree.stdout.trim(), "-p", how.onto, "-m", request.message]);
  if (commit.code !== 0) return stop(publishFailure("other", commit));
  return { ok: true, commit: commit.stdout.trim(), paths, leftOut: left };
}

function prepareGit(folder: string, parts: PublisherDeps, request: PublishRequest): HostGit {
  const { author, at, credentials, insecureTls, signal } = request;
  const secret = join(folder, "secret");
  writeFileSync(secret, `${credentials.token}\n`, { mode: 0o600 });
  const askpass = join(folder, "askpass");
  writeFileSync(askpass, ASKPASS, { mode: 0o700 });
  chmodSync(askpass, 0o700);
  const date = `${Math.floor(at.getTime() / 1000)} +0000`;
  return createHostGit({
    folder,
    path: parts.path,
    askpass,
    passed: parts.passed,
    own: {
      PICOCLAW_GIT_USER: credentials.username,
      PICOCLAW_GIT_SECRET: secret,
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
      GIT_COMMITTER_DATE: date,
    },
    insecureTls,
    timeoutMs: parts.timeoutMs,
    signal,
  });
}

function parseRemoteHeads(listing: string): ReadonlyMap<string, string> {
  const heads = new Map<string, string>();
  for (const line of listing.split("\n")) {
    const [commit = "", ref = ""] = line.split("\t");
    if (ref.startsWith("refs/heads/")) heads.set(ref.slice("refs/heads/".length), commit);
  }
  return heads;
}

function publishFailure(reason: Extract<Published, { status: "failed" }>["reason"], run: GitRun): Published {
  return { status: "failed", reason, message: run.stderr.trim().slice(0, 500) };
}
