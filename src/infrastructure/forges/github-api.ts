import { Octokit } from "@octokit/rest";
import type { ForgePull } from "../../application/ports/forges.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";
import type { ForgeFetch } from "./forge-fetch.ts";

export interface GitHubDeps {
  readonly token: string;
  /** Where the API answers: `https://api.github.com`, or `https://host/api/v3`. */
  readonly apiUrl: string;
  /** Where people look: `https://github.com`. */
  readonly site: string;
  readonly fetch: ForgeFetch;
  readonly userAgent: string;
}

export const PAGE_SIZE = 100;

export type GitHubApi = ReturnType<typeof createGitHubApi>;

/** The official client, and how GitHub names repositories and items. */
export function createGitHubApi({ token, apiUrl, site, fetch, userAgent }: GitHubDeps) {
  const octokit = (signal: AbortSignal) =>
    new Octokit({
      auth: token,
      baseUrl: apiUrl,
      userAgent,
      log: { debug: ignoreLog, info: ignoreLog, warn: ignoreLog, error: ignoreLog },
      request: { fetch: (url: string, init: RequestInit) => fetch(new Request(url, init), signal) },
    });
  const client = (signal: AbortSignal) => octokit(signal).rest;
  const at = (item: ItemRef) => ({ ...splitRepository(item.repository), issue_number: item.number });
  const pullAt = (item: ItemRef) => ({ ...splitRepository(item.repository), pull_number: item.number });
  const ref = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "github",
    site,
    repository,
    kind,
    number,
  });
  const toPull = (repository: string, pull: { number: number; html_url: string }): ForgePull => ({
    ref: ref(repository, "pull", pull.number),
    url: pull.html_url,
  });
  return { octokit, client, at, pullAt, ref, toPull };
}

function ignoreLog(): void {}

export function splitRepository(repository: string): { owner: string; repo: string } {
  const [owner = "", repo = ""] = repository.split("/");
  return { owner, repo };
}

/** At most ten pages: a thread of a thousand comments has said what it has to say. */
export async function readAllPages<T>(read: (page: number) => Promise<{ data: T[] }>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= 10; page++) {
    const { data } = await read(page);
    all.push(...data);
    if (data.length < PAGE_SIZE) break;
  }
  return all;
}
