/**
 * Cuts out of GitHub's own OpenAPI description (`@octokit/openapi`, 400 MB installed) what the forge tests check
 * requests against: parameters and bodies of the operations in use.
 *
 *   npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
 *   bun scripts/github-openapi-slice.ts package/generated/api.github.com.deref.json
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: unknown }[];
  readonly requestBody?: { required?: boolean; content: Record<string, { schema: unknown }> };
}

const USED: readonly [method: string, path: string][] = [
  ["get", "/user"],
  ["get", "/repos/{owner}/{repo}"],
  ["get", "/repos/{owner}/{repo}/git/trees/{tree_sha}"],
  ["get", "/repos/{owner}/{repo}/issues"],
  // Before the next, whose form it has as well.
  ["get", "/repos/{owner}/{repo}/issues/comments"],
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}"],
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}/events"],
  ["post", "/repos/{owner}/{repo}/issues/{issue_number}/labels"],
  ["delete", "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}"],
  ["post", "/repos/{owner}/{repo}/issues/{issue_number}/assignees"],
  ["delete", "/repos/{owner}/{repo}/issues/{issue_number}/assignees"],
  ["get", "/repos/{owner}/{repo}/collaborators/{username}/permission"],
  ["get", "/repos/{owner}/{repo}/branches/{branch}"],
  ["get", "/repos/{owner}/{repo}/pulls"],
  ["post", "/repos/{owner}/{repo}/pulls"],
  ["get", "/repos/{owner}/{repo}/pulls/{pull_number}"],
  ["patch", "/repos/{owner}/{repo}/pulls/{pull_number}"],
  ["post", "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies"],
  ["get", "/repos/{owner}/{repo}/pulls/{pull_number}/comments"],
  ["get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"],
];

const source = process.argv[2];
if (source === undefined) throw new Error("name the dereferenced description");
const description = JSON.parse(readFileSync(source, "utf8")) as {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
};
const operations = USED.map(([method, path]) => {
  const operation = description.paths[path]?.[method];
  if (operation === undefined) throw new Error(`GitHub has no ${method} ${path}`);
  const parameters = (operation.parameters ?? []).filter((each) => each.in === "path" || each.in === "query");
  return {
    method: method.toUpperCase(),
    path,
    id: operation.operationId,
    parameters: parameters.map(({ name, in: place, required = false, schema }) => ({
      name,
      in: place,
      required,
      schema: bare(schema),
    })),
    body: bare(operation.requestBody?.content["application/json"]?.schema) ?? null,
    bodyRequired: operation.requestBody?.required === true,
  };
});
const target = join(import.meta.dir, "../test/fakes/forges/github-openapi.json");
writeFileSync(
  target,
  `${JSON.stringify({ source: "github/rest-api-description (MIT)", version: description.info.version, operations })}\n`,
);

/** Without prose and examples. */
function bare(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bare);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(
        ([key, value]) =>
          !(["description", "example", "examples"].includes(key) && typeof value !== "object") &&
          key !== "examples" &&
          key !== "example",
      )
      .map(([key, value]) => [key, bare(value)]),
  );
}
