import { byForge, FORGE_KINDS, type ForgeKind, forgeFacts } from "../config/configured-kinds.ts";

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

/** Self-hosted sites that the configuration names, so that their addresses are recognised. */
export type KnownSites = Readonly<Record<ForgeKind, readonly string[]>>;

/** The address for people, derived from that of the API. */
export function forgeSite(kind: ForgeKind, baseUrl: string | null): string {
  if (baseUrl === null) return forgeFacts(kind).site;
  return baseUrl.replace(/\/+$/, "").replace(/\/api\/v\d+$/, "");
}

/** Self-hosted sites, so that their addresses are recognised. */
export function forgeSites(
  settings: Readonly<Record<ForgeKind, { readonly base_url: string | null }>>,
): KnownSites {
  return byForge((kind) => {
    const { base_url: url } = settings[kind];
    return url === null ? [] : [forgeSite(kind, url)];
  });
}

/** Reads the address of an issue, PR or MR as a browser shows it; null when it is not such an address. */
export function parseItemUrl(text: string, sites: KnownSites): ItemRef | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.username !== "" || url.password !== "") return null;
  for (const forge of FORGE_KINDS) {
    for (const site of [forgeFacts(forge).site, ...sites[forge]]) {
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
  const { item, issues } = forgeFacts(forge);
  const match = item.exec(path);
  if (match === null) return null;
  const [, repository = "", kind, number = ""] = match;
  if (!isRepositoryName(repository)) return null;
  return { repository, kind: issues.includes(kind as string) ? "issue" : "pull", number: Number(number) };
}

export interface RepositoryRef {
  readonly forge: ForgeKind;
  readonly site: string;
  readonly repository: string;
}

/** `git@host:owner/name.git`, as git takes it beside addresses. */
const SCP_ADDRESS = /^(?:[\w.-]+@)?([\w.-]+):(?!\/)(.+)$/;

/** The repository that git's address of a remote names, by HTTPS or SSH; null if the forge is unknown. */
export function parseRemoteUrl(text: string, sites: KnownSites): RepositoryRef | null {
  const scp = text.includes("://") ? null : SCP_ADDRESS.exec(text);
  const address = scp === null ? text : `ssh://${scp[1]}/${scp[2]}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^(?:https?|ssh|git\+ssh):$/.test(url.protocol)) return null;
  const isSsh = url.protocol.endsWith("ssh:");
  for (const forge of FORGE_KINDS) {
    for (const site of [forgeFacts(forge).site, ...sites[forge]]) {
      const base = new URL(site);
      const isThere = isSsh ? base.hostname === url.hostname : base.host === url.host;
      // Only HTTPS addresses of a self-hosted site contain its folder.
      const folder = isSsh ? "" : trimSlash(base.pathname);
      if (!isThere || !url.pathname.startsWith(`${folder}/`)) continue;
      const repository = url.pathname
        .slice(folder.length + 1)
        .replace(/\/+$/, "")
        .replace(/\.git$/, "");
      if (isRepositoryName(repository)) return { forge, site: trimSlash(site), repository };
    }
  }
  return null;
}

/** Splits the password from a URL, so that it never becomes an argument of a program. */
export function splitRemoteUrl(text: string): {
  readonly url: string;
  readonly credentials: { readonly username: string; readonly token: string } | null;
} {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.password === "" || !/^https?:$/.test(url.protocol))
    return { url: text, credentials: null };
  const credentials = {
    username: decodeURIComponent(url.username),
    token: decodeURIComponent(url.password),
  };
  url.username = "";
  url.password = "";
  return { url: url.href, credentials };
}

/** A repository's name is a word of its own in addresses, in git and in folder names: nothing to be decoded. */
function isRepositoryName(name: string): boolean {
  return /^[\w.-]+(?:\/[\w.-]+)+$/.test(name) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(name);
}

/** Where a person opens a pull of a branch by hand. */
export function newPullUrl({ forge, site, repository }: RepositoryRef, branch: string): string {
  return `${site}/${repository}${forgeFacts(forge).newPull(branch)}`;
}

/** The address a person can open. */
export function itemUrl({ forge, site, repository, kind, number }: ItemRef): string {
  const { between, issues, pulls } = forgeFacts(forge);
  return `${site}/${repository}${between}${kind === "issue" ? issues[0] : pulls[0]}/${number}`;
}

function trimSlash(text: string): string {
  return text.replace(/\/+$/, "");
}

/** The name of a comment as a delivery: the same by webhook and by polling, so that it is taken in once. */
export function commentDeliveryId({ forge, site }: ItemRef, commentId: number | string): string {
  return `${forge}:${site}:comment:${commentId}`;
}

/** The same for the words that an item was opened with. */
export function openedDeliveryId({ forge, site, repository, kind, number }: ItemRef): string {
  return `${forge}:${site}:opened:${repository}:${kind}:${number}`;
}
