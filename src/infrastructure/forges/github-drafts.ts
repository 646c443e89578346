import type { Octokit } from "@octokit/rest";
import { findForgeFault } from "./forge-fault.ts";

/** Some plans of GitHub have no drafts in private repositories. */
export function isDraftRefused(error: unknown): boolean {
  const failure = findForgeFault(error)?.failure;
  return failure?.code === "invalid" && /draft/i.test(failure.message);
}

/** Only GraphQL makes a draft of a pull, or a pull of a draft. False where it does not. */
export async function setDraft(
  octokit: Pick<Octokit, "graphql">,
  pullRequestId: string,
  draft: boolean,
): Promise<boolean> {
  const mutation = draft ? "convertPullRequestToDraft" : "markPullRequestReadyForReview";
  const query = `mutation($id: ID!) { ${mutation}(input: { pullRequestId: $id }) { clientMutationId } }`;
  return octokit.graphql(query, { id: pullRequestId }).then(
    () => true,
    () => false,
  );
}
