import { Branches, ProjectMembers, Projects, Repositories, Users } from "@gitbeaker/rest";
import type { Forge, ForgeUser } from "../../application/ports/forges.ts";
import { answerForge, nullIfMissing } from "./forge-fault.ts";
import { createGitLabApi, type GitLabDeps, PAGE_LIMITS } from "./gitlab-api.ts";
import { createGitLabItems } from "./gitlab-items.ts";
import { createGitLabPulls } from "./gitlab-pulls.ts";
import { accessLevel, DEVELOPER, type Permissions, toPermission } from "./gitlab-shapes.ts";

export function createGitLab(parts: GitLabDeps): Forge {
  const api = createGitLabApi(parts);
  const { options } = api;
  return {
    kind: "gitlab",
    credentials: { username: "oauth2", token: parts.token },
    whoAmI: (signal) =>
      answerForge(async (): Promise<ForgeUser> => {
        const user = await new Users(options(signal)).showCurrentUser();
        return { id: user.id, login: user.username };
      }),
    readRepository: (repository, signal) =>
      answerForge(async () => {
        const project = await new Projects(options(signal)).show(repository);
        const { permissions } = project as unknown as { permissions?: Permissions };
        return {
          name: project.path_with_namespace,
          defaultBranch: project.default_branch,
          cloneUrl: project.http_url_to_repo,
          archived: project.archived === true,
          canPush: accessLevel(permissions) >= DEVELOPER,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answerForge(async () => {
        const tree = await new Repositories(options(signal)).allRepositoryTrees(repository, {
          ref: branch,
          recursive: true,
          pagination: "keyset",
          ...PAGE_LIMITS,
        });
        return tree.filter(({ type }) => type === "blob").map(({ path }) => path);
      }),
    permissionOf: (repository, user, signal) =>
      answerForge(async () => {
        const found = await new ProjectMembers(options(signal)).all(repository, {
          includeInherited: true,
          query: user,
          ...PAGE_LIMITS,
        });
        const member = found.find(({ username }) => username.toLowerCase() === user.toLowerCase());
        return toPermission((member as { access_level?: number } | undefined)?.access_level ?? 0);
      }),
    readBranch: (repository, branch, signal) =>
      answerForge(async () => {
        const found = await nullIfMissing(new Branches(options(signal)).show(repository, branch));
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found;
        return { name, commit: commit.id, protected: isProtected === true };
      }),
    ...createGitLabItems(api),
    ...createGitLabPulls(api),
  };
}
