import type { Forge } from "../../application/ports/forge.ts";
import { answer, orNull } from "./forge-fault.ts";
import { createGitHubApi, type GitHubParts, split } from "./github-api.ts";
import { createGitHubItems } from "./github-items.ts";
import { createGitHubPulls } from "./github-pulls.ts";
import { permissionOf } from "./github-shapes.ts";

export function createGitHub(parts: GitHubParts): Forge {
  const api = createGitHubApi(parts);
  const { client } = api;
  return {
    kind: "github",
    credentials: { username: "x-access-token", token: parts.token },
    whoAmI: (signal) =>
      answer(async () => {
        const { data } = await client(signal).users.getAuthenticated();
        return { id: data.id, login: data.login };
      }),
    readRepository: (repository, signal) =>
      answer(async () => {
        const { data } = await client(signal).repos.get(split(repository));
        return {
          name: data.full_name,
          defaultBranch: data.default_branch,
          cloneUrl: data.clone_url,
          archived: data.archived,
          canPush: data.permissions?.push === true,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answer(async () => {
        const where = { ...split(repository), tree_sha: branch, recursive: "1" };
        const { data } = await client(signal).git.getTree(where);
        return data.tree.flatMap(({ type, path }) => (type === "blob" && path !== undefined ? [path] : []));
      }),
    permissionOf: (repository, username, signal) =>
      answer(async () => {
        const found = await orNull(
          client(signal).repos.getCollaboratorPermissionLevel({ ...split(repository), username }),
        );
        return permissionOf(found?.data.permission);
      }),
    readBranch: (repository, branch, signal) =>
      answer(async () => {
        const found = await orNull(client(signal).repos.getBranch({ ...split(repository), branch }));
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found.data;
        return { name, commit: commit.sha, protected: isProtected };
      }),
    ...createGitHubItems(api),
    ...createGitHubPulls(api),
  };
}
