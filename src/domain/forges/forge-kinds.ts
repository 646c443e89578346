/** What is known of a forge without asking it. */
interface ForgeShape {
  /** Where people look, unless they host their own. */
  readonly site: string;
  /** The path of an issue or a pull below its site: repository, kind, number. */
  readonly item: RegExp;
  /** The kinds in such a path, the first of each as addresses are written. */
  readonly issues: readonly [string, ...string[]];
  readonly pulls: readonly [string, ...string[]];
  /** What stands between repository and kind. */
  readonly between: string;
  /** The name that git gives beside a token. */
  readonly gitUser: string;
}

/** One entry a forge. */
const FORGE_SHAPES = {
  github: {
    site: "https://github.com",
    item: /^\/([^/]+\/[^/]+)\/(issues|pull)\/(\d{1,18})\/?$/,
    issues: ["issues"],
    pulls: ["pull"],
    between: "/",
    gitUser: "x-access-token",
  },
  gitlab: {
    site: "https://gitlab.com",
    item: /^\/(.+?)\/(?:-\/)?(issues|merge_requests|work_items)\/(\d{1,18})\/?$/,
    issues: ["issues", "work_items"],
    pulls: ["merge_requests"],
    between: "/-/",
    gitUser: "oauth2",
  },
} as const satisfies Readonly<Record<string, ForgeShape>>;

export type ForgeKind = keyof typeof FORGE_SHAPES;

export const FORGE_KINDS = Object.keys(FORGE_SHAPES) as readonly ForgeKind[];

export function forgeShape(forge: ForgeKind): ForgeShape {
  return FORGE_SHAPES[forge];
}

/** Asks for every forge. */
export function byForge<T>(ask: (forge: ForgeKind) => T): Readonly<Record<ForgeKind, T>> {
  return Object.fromEntries(FORGE_KINDS.map((forge) => [forge, ask(forge)])) as Record<ForgeKind, T>;
}
