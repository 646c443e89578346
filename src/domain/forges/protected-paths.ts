/**
 * Files that decide what runs on the forge's own machines; a change there could reach its secrets. A change at the path
 * of a folder itself is one that puts a link or a submodule in its place.
 */
const WORKFLOWS = [
  /^\.(?:github|gitea|forgejo)(?:\/(?:workflows|actions)(?:\/|$)|$)/i,
  /^\.gitlab-ci(?:\/|\.ya?ml$|$)/i,
  /^\.gitlab(?:\/ci(?:\/|$)|$)/i,
  /^\.(?:circleci|buildkite|semaphore|teamcity|tekton|harness|builds|zuul\.d|azure-pipelines|buddy)(?:\/|$)/i,
  /^\.woodpecker(?:\/|\.ya?ml$|$)/i,
  /^\.drone\.(?:ya?ml|star|jsonnet)$/i,
  /^\.cirrus\.(?:ya?ml|star)$/i,
  /^\.?(?:travis|appveyor|build|zuul|vela|buddy|codeship-steps|semaphore)\.ya?ml$/i,
  /^(?:azure-pipelines|bitbucket-pipelines|circle|wercker|codefresh|bitrise|codemagic|screwdriver|cloudbuild|buildspec)\.ya?ml$/i,
  /(?:^|\/)Jenkinsfile(?:\.[^/]*)?$/i,
];

/** Whether a path belongs to a forge's CI. Paths are those of the repository, `/`-separated. */
export function isWorkflowPath(path: string): boolean {
  return WORKFLOWS.some((pattern) => pattern.test(path));
}
