import { Branches, ProjectMembers, Projects, Repositories, Users } from "@gitbeaker/rest";
import type { Forge, ForgeUser } from "../../application/ports/forge.ts";
import { answer, orNull } from "./forge-fault.ts";
import { createGitLabApi, type GitLabParts, PAGES } from "./gitlab-api.ts";
import { createGitLabItems } from "./gitlab-items.ts";
import { createGitLabPulls } from "./gitlab-pulls.ts";
import { DEVELOPER, levelOf, type Permissions, permission } from "./gitlab-shapes.ts";

export function createGitLab(parts: GitLabParts): Forge {
  const api = createGitLabApi(parts);
  const { options } = api;
  return {
    kind: "gitlab",
    credentials: { username: "oauth2", token: parts.token },
    whoAmI: (signal) =>
      answer(async (): Promise<ForgeUser> => {
        const user = await new Users(options(signal)).showCurrentUser();
        return { id: user.id, login: user.username };
      }),
    readRepository: (repository, signal) =>
      answer(async () => {
        const project = await new Projects(options(signal)).show(repository);
        const { permissions } = project as unknown as { permissions?: Permissions };
        return {
          name: project.path_with_namespace,
          defaultBranch: project.default_branch,
          cloneUrl: project.http_url_to_repo,
          archived: project.archived === true,
          canPush: levelOf(permissions) >= DEVELOPER,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answer(async () => {
        const tree = await new Repositories(options(signal)).allRepositoryTrees(repository, {
          ref: branch,
          recursive: true,
          pagination: "keyset",
          ...PAGES,
        });
        return tree.filter(({ type }) => type === "blob").map(({ path }) => path);
      }),
    permissionOf: (repository, user, signal) =>
      answer(async () => {
        const found = await new ProjectMembers(options(signal)).all(repository, {
          includeInherited: true,
          query: user,
          ...PAGES,
        });
        const member = found.find(({ username }) => username.toLowerCase() === user.toLowerCase());
        return permission((member as { access_level?: number } | undefined)?.access_level ?? 0);
      }),
    readBranch: (repository, branch, signal) =>
      answer(async () => {
        const found = await orNull(new Branches(options(signal)).show(repository, branch));
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found;
        return { name, commit: commit.id, protected: isProtected === true };
      }),
    ...createGitLabItems(api),
    ...createGitLabPulls(api),
  };
}
