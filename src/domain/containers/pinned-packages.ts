import type { Ecosystem } from "./dependency-plan.ts";

/** Files whose packages can be named one by one, and who installs them. */
export const PINNED_FILES: Readonly<Record<string, Extract<Ecosystem, "npm" | "pip">>> = {
  "package-lock.json": "npm",
  "npm-shrinkwrap.json": "npm",
  "requirements.txt": "pip",
};

const MOST_PINNED_PACKAGES = 5000;
const PINNED_NPM_NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const NPM_VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;
const PIP_PIN =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[A-Za-z0-9,._ -]*\])?\s*==\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)(?=\s*(?:$|[;#\\]|--hash))/;

/**
 * Names and exact versions, as the installer's command line takes them. The file is a stranger's: nothing else of it
 * is ever given to whoever downloads, neither addresses nor options, so that it decides what is fetched and never from
 * where. Sorted, without repetition.
 */
export function pinnedPackages(
  ecosystem: "npm" | "pip",
  text: string,
  { npmRegistry }: { readonly npmRegistry: string | null },
): readonly string[] {
  const found = ecosystem === "npm" ? npmPins(text, npmRegistry) : pipPins(text);
  return [...new Set(found)].sort().slice(0, MOST_PINNED_PACKAGES);
}

/** Without a registry nobody knows which packages are of ours: none. */
function npmPins(text: string, registry: string | null): readonly string[] {
  if (registry === null) return [];
  const indexHost = new URL(registry).host;
  const lock = jsonOf(text);
  const packages = isObject(lock) && isObject(lock.packages) ? lock.packages : {};
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (!isObject(entry) || entry.link === true || entry.inBundle === true) return [];
    const at = path.lastIndexOf("node_modules/");
    if (at < 0) return [];
    const name = typeof entry.name === "string" ? entry.name : path.slice(at + "node_modules/".length);
    const { version, resolved } = entry;
    // What comes from git, a file or somebody's own index is not the package of that name in ours.
    if (typeof resolved === "string" && hostOf(resolved) !== indexHost) return [];
    return typeof version === "string" && PINNED_NPM_NAME.test(name) && NPM_VERSION.test(version)
      ? [`${name}@${version}`]
      : [];
  });
}

function pipPins(text: string): readonly string[] {
  // The project names where its packages come from: a package of the same name elsewhere must not take their place.
  if (/^\s*(?:--no-index|--index-url|--extra-index-url|--find-links|-i|-f)\b/m.test(text)) return [];
  return text.split(/\r?\n/).flatMap((line) => {
    const pin = PIP_PIN.exec(line.trim());
    return pin === null ? [] : [`${pin[1]?.toLowerCase()}==${pin[2]}`];
  });
}

function hostOf(address: string): string | null {
  return /^https?:/.test(address) && URL.canParse(address) ? new URL(address).host : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
