import { FORGE_KINDS, type ForgeKind, forgeShape } from "./forge-kinds.ts";

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

/** Reads the address of an issue, PR or MR as a browser shows it; null when it is none. */
export function parseItemUrl(text: string, sites: KnownSites): ItemRef | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.username !== "" || url.password !== "") return null;
  for (const forge of FORGE_KINDS) {
    for (const site of [forgeShape(forge).site, ...sites[forge]]) {
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
  const { item, issues } = forgeShape(forge);
  const match = item.exec(path);
  if (match === null) return null;
  const [, repository = "", kind, number = ""] = match;
  // A repository's name is a word of its own in addresses, in git and in folder names: nothing to be decoded.
  if (!/^[\w.-]+(?:\/[\w.-]+)+$/.test(repository) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(repository)) return null;
  return { repository, kind: issues.includes(kind as string) ? "issue" : "pull", number: Number(number) };
}

/** The address a person can open. */
export function itemUrl({ forge, site, repository, kind, number }: ItemRef): string {
  const { between, issues, pulls } = forgeShape(forge);
  return `${site}/${repository}${between}${kind === "issue" ? issues[0] : pulls[0]}/${number}`;
}

function trimSlash(text: string): string {
  return text.replace(/\/+$/, "");
}
