/**
 * Files that decide what runs on the forge's own machines; a change there could reach its secrets. A change at the path
 * of a folder itself is one that puts a link or a submodule in its place.
 */
const WORKFLOWS = [
  /^\.github(?:\/(?:workflows|actions)(?:\/|$)|$)/i,
  /^\.gitlab-ci\.ya?ml$/i,
  /^\.gitlab(?:\/ci(?:\/|$)|$)/i,
  /^\.circleci(?:\/|$)/i,
  /^\.buildkite(?:\/|$)/i,
  /^\.drone\.ya?ml$/i,
  /^\.woodpecker(?:\/|\.ya?ml$|$)/i,
  /^azure-pipelines\.ya?ml$/i,
  /^bitbucket-pipelines\.ya?ml$/i,
  /^Jenkinsfile$/i,
];

/** Whether a path belongs to a forge's CI. Paths are those of the repository, `/`-separated. */
export function isWorkflowPath(path: string): boolean {
  return WORKFLOWS.some((pattern) => pattern.test(path));
}
