/** A configuration before it is validated: what a file or the environment said. */
export type Tree = { readonly [key: string]: unknown };
export type Path = readonly (string | number)[];

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function getAt(tree: Tree, path: Path): unknown {
  let value: unknown = tree;
  for (const step of path) {
    if (Array.isArray(value) && typeof step === "number") value = value[step];
    else if (isTree(value)) value = Object.hasOwn(value, step) ? value[step] : undefined;
    else return undefined;
  }
  return value;
}

export function withValue(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  const below = tree[key];
  return { ...tree, [key]: rest.length === 0 ? value : withValue(isTree(below) ? below : {}, rest, value) };
}

/** Every value that is not a map, and every empty map, with its path. */
export function leavesOf(
  tree: Tree,
  path: readonly string[] = [],
): { path: readonly string[]; value: unknown }[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const here = [...path, key];
    return isTree(value) && Object.keys(value).length > 0 ? leavesOf(value, here) : [{ path: here, value }];
  });
}

/** `routing.rules[0].pattern` */
export function pathText(path: Path): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
}
