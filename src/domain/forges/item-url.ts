/** An issue, a pull request or a merge request. A merge request is a pull here: one word for both forges. */
export interface ItemRef {
  readonly forge: ForgeKind;
  /** `https://github.com`, or a self-hosted address with its sub-folder. */
  readonly site: string;
  /** `owner/name`; on GitLab any depth of groups. */
  readonly repository: string;
  readonly kind: "issue" | "pull";
  readonly number: number;
}

export type ForgeKind = "github" | "gitlab";

/** Self-hosted sites that the configuration names, so that their addresses are recognised. */
export interface KnownSites {
  readonly github: readonly string[];
  readonly gitlab: readonly string[];
}

const GITHUB = /^\/([^/]+\/[^/]+)\/(issues|pull)\/(\d{1,18})\/?$/;
const GITLAB = /^\/(.+?)\/(?:-\/)?(issues|merge_requests|work_items)\/(\d{1,18})\/?$/;

/** Reads the address of an issue, PR or MR as a browser shows it; null when it is none. */
export function parseItemUrl(text: string, sites: KnownSites): ItemRef | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.username !== "" || url.password !== "") return null;
  for (const forge of ["github", "gitlab"] as const) {
    for (const site of [`https://${forge}.com`, ...sites[forge]]) {
      const path = pathBelow(site, url);
      const found = path === null ? null : itemAt(forge, path);
      if (found !== null) return { forge, site: trimSlash(site), ...found };
    }
  }
  return null;
}

function pathBelow(site: string, url: URL): string | null {
  const base = new URL(site);
  const folder = trimSlash(base.pathname);
  if (base.host !== url.host || base.protocol !== url.protocol) return null;
  return url.pathname.startsWith(`${folder}/`) ? url.pathname.slice(folder.length) : null;
}

function itemAt(forge: ForgeKind, path: string): Pick<ItemRef, "repository" | "kind" | "number"> | null {
  const match = (forge === "github" ? GITHUB : GITLAB).exec(path);
  if (match === null) return null;
  const [, repository = "", kind, number = ""] = match;
  // A repository's name is a word of its own in addresses, in git and in folder names: nothing to be decoded.
  if (!/^[\w.-]+(?:\/[\w.-]+)+$/.test(repository) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(repository)) return null;
  const isIssue = kind === "issues" || kind === "work_items";
  return { repository, kind: isIssue ? "issue" : "pull", number: Number(number) };
}

/** The address a person can open. */
export function itemUrl({ forge, site, repository, kind, number }: ItemRef): string {
  if (forge === "github") return `${site}/${repository}/${kind === "issue" ? "issues" : "pull"}/${number}`;
  return `${site}/${repository}/-/${kind === "issue" ? "issues" : "merge_requests"}/${number}`;
}

function trimSlash(text: string): string {
  return text.replace(/\/+$/, "");
}
