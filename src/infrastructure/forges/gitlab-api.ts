import { Issues, MergeRequests } from "@gitbeaker/rest";
import type { ForgePull } from "../../application/ports/forges.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/forge-items.ts";
import type { ForgeFetch } from "./forge-fetch.ts";
import { gitlabRequester } from "./gitlab-requester.ts";
import type { Change } from "./gitlab-shapes.ts";

export interface GitLabDeps {
  readonly token: string;
  /** `https://gitlab.com`, or a self-hosted address; the API lies below it. */
  readonly site: string;
  readonly fetch: ForgeFetch;
}

export const PAGE_LIMITS = { perPage: 100, maxPages: 10 } as const;

export type GitLabApi = ReturnType<typeof createGitLabApi>;

/** How the official client is opened, and what issues and merge requests have in common. */
export function createGitLabApi({ token, site, fetch }: GitLabDeps) {
  const options = (signal: AbortSignal) => ({
    host: site,
    token,
    requesterFn: gitlabRequester(fetch, signal),
  });
  const ref = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "gitlab",
    site,
    repository,
    kind,
    number,
  });
  const edit = async (item: ItemRef, change: Change, signal: AbortSignal) => {
    if (item.kind === "issue") await new Issues(options(signal)).edit(item.repository, item.number, change);
    else await new MergeRequests(options(signal)).edit(item.repository, item.number, change);
  };
  const toPull = (repository: string, { iid }: { iid: number }): ForgePull => {
    const pull = ref(repository, "pull", iid);
    return { ref: pull, url: itemUrl(pull) };
  };
  return { options, ref, edit, toPull };
}
