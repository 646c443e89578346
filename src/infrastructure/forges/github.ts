import type { Forge } from "../../application/ports/forges.ts";
import { answerForge, nullIfMissing } from "./forge-fault.ts";
import { createGitHubApi, type GitHubDeps, splitRepository } from "./github-api.ts";
import { createGitHubItems } from "./github-items.ts";
import { createGitHubPulls } from "./github-pulls.ts";
import { toPermission } from "./github-shapes.ts";

export function createGitHub(parts: GitHubDeps): Forge {
  const api = createGitHubApi(parts);
  const { client } = api;
  return {
    kind: "github",
    credentials: { username: "x-access-token", token: parts.token },
    whoAmI: (signal) =>
      answerForge(async () => {
        const { data } = await client(signal).users.getAuthenticated();
        return { id: data.id, login: data.login };
      }),
    readRepository: (repository, signal) =>
      answerForge(async () => {
        const { data } = await client(signal).repos.get(splitRepository(repository));
        return {
          name: data.full_name,
          defaultBranch: data.default_branch,
          cloneUrl: data.clone_url,
          archived: data.archived,
          canPush: data.permissions?.push === true,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answerForge(async () => {
        const where = { ...splitRepository(repository), tree_sha: branch, recursive: "1" };
        const { data } = await client(signal).git.getTree(where);
        return data.tree.flatMap(({ type, path }) => (type === "blob" && path !== undefined ? [path] : []));
      }),
    permissionOf: (repository, username, signal) =>
      answerForge(async () => {
        const found = await nullIfMissing(
          client(signal).repos.getCollaboratorPermissionLevel({ ...splitRepository(repository), username }),
        );
        return toPermission(found?.data.permission);
      }),
    readBranch: (repository, branch, signal) =>
      answerForge(async () => {
        const found = await nullIfMissing(
          client(signal).repos.getBranch({ ...splitRepository(repository), branch }),
        );
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found.data;
        return { name, commit: commit.sha, protected: isProtected };
      }),
    ...createGitHubItems(api),
    ...createGitHubPulls(api),
  };
}
