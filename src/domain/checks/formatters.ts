import { attemptOr } from "../platform/error-text.ts";
import { quotePath } from "./narrow-check.ts";

export interface FormattedProject {
  names(folder: string): readonly string[];
  /** The text of a file; empty where there is none. */
  text(path: string): string;
  isOnPath(program: string): boolean;
}

/** One call of a formatter, which rewrites these files in place. */
export interface FormatCall {
  readonly formatter: string;
  readonly line: string;
  readonly paths: readonly string[];
}

interface Formatter {
  readonly name: string;
  readonly formats: RegExp;
  /** Whether the project asks for it in this folder. */
  isConfigured(folder: string, project: FormattedProject): boolean;
  /** Folders with its program, below the configured folder or one above it. */
  readonly installedIn?: readonly string[];
  readonly isOnPath?: true;
  args(folder: string, project: FormattedProject): string;
}

const inFolder = (folder: string, name: string) => (folder === "" ? name : `${folder}/${name}`);

const SCRIPTS = "[cm]?[jt]sx?|jsonc?|css|graphql|html|vue|svelte|astro";
const PYTHON = { formats: /\.pyi?$/, installedIn: [".venv/bin", "venv/bin"], isOnPath: true } as const;

/** Python projects configure a formatter in its own section, or as a pre-commit hook. */
function isNamedInPython(section: string, hook: string) {
  return (folder: string, { text }: FormattedProject) =>
    text(inFolder(folder, "pyproject.toml")).split("\n").includes(section) ||
    new RegExp(`^\\s*-\\s*id:\\s*${hook}\\s*$`, "m").test(text(inFolder(folder, ".pre-commit-config.yaml")));
}

/** The edition in the nearest manifest above the file; cargo's default is 2015. */
function rustEdition(folder: string, { text }: FormattedProject): string {
  const manifests = foldersUp(folder).map((one) => text(inFolder(one, "Cargo.toml")));
  return /^edition\s*=\s*"(\d{4})"/m.exec(manifests.join("\n"))?.[1] ?? "2015";
}

function hasPrettierKey(manifest: string): boolean {
  return attemptOr(false, () => "prettier" in (JSON.parse(manifest) as object));
}

/** One line a formatter. A file is formatted by the first that its project configures for it. */
const FORMATTERS: readonly Formatter[] = [
  {
    name: "prettier",
    formats: new RegExp(`\\.(?:${SCRIPTS}|json5|scss|less|mdx?|ya?ml)$`),
    isConfigured: (folder, { names, text }) =>
      names(folder).some((name) => /^(?:\.prettierrc(?:\..+)?|prettier\.config\.[cm]?[jt]s)$/.test(name)) ||
      hasPrettierKey(text(inFolder(folder, "package.json"))),
    installedIn: ["node_modules/.bin"],
    args: () => "--write --ignore-unknown",
  },
  {
    name: "biome",
    formats: new RegExp(`\\.(?:${SCRIPTS})$`),
    isConfigured: (folder, { names }) => names(folder).some((name) => /^\.?biome\.jsonc?$/.test(name)),
    installedIn: ["node_modules/.bin"],
    args: () => "format --write",
  },
  { name: "black", ...PYTHON, isConfigured: isNamedInPython("[tool.black]", "black"), args: () => "-q" },
  {
    name: "ruff",
    ...PYTHON,
    isConfigured: (folder, project) =>
      isNamedInPython("[tool.ruff.format]", "ruff-format")(folder, project) ||
      ["ruff.toml", ".ruff.toml"].some((name) =>
        project.text(inFolder(folder, name)).split("\n").includes("[format]"),
      ),
    args: () => "format -q --force-exclude",
  },
  {
    name: "gofmt",
    formats: /\.go$/,
    isConfigured: (folder, { names }) => names(folder).includes("go.mod"),
    isOnPath: true,
    args: () => "-w",
  },
  {
    name: "rustfmt",
    formats: /\.rs$/,
    isConfigured: (folder, { names }) => names(folder).includes("Cargo.toml"),
    isOnPath: true,
    args: (folder, project) => `--edition ${rustEdition(folder, project)}`,
  },
];

/** How these files are formatted by what their project configures and has installed. */
export function findFormatCalls(paths: readonly string[], project: FormattedProject): FormatCall[] {
  const found = paths.map((path) => ({ path, ...findFormatter(path, project) }));
  const calls = Map.groupBy(found, ({ folder, call }) => `${folder}\0${call}`);
  return [...calls.values()].flatMap((files) => {
    const { formatter, folder = "", call } = files[0] ?? {};
    if (formatter === undefined) return [];
    const enter = folder === "" ? "" : `cd ${quotePath(folder)} && `;
    const below = files.map(({ path }) =>
      quotePath(`./${folder === "" ? path : path.slice(folder.length + 1)}`),
    );
    return [{ formatter, paths: files.map(({ path }) => path), line: `${enter}${call} ${below.join(" ")}` }];
  });
}

function findFormatter(path: string, project: FormattedProject) {
  const above = foldersUp(path).slice(1);
  for (const formatter of FORMATTERS) {
    const folder = formatter.formats.test(path)
      ? above.find((one) => formatter.isConfigured(one, project))
      : undefined;
    if (folder === undefined) continue;
    const program = findProgram(formatter, folder, project);
    const call = `${program} ${formatter.args(folder, project)}`;
    return program === null ? null : { formatter: formatter.name, folder, call };
  }
  return null;
}

/** The program as it is called in the folder; null where it is not installed. */
function findProgram(
  { name, installedIn = [], isOnPath }: Formatter,
  folder: string,
  project: FormattedProject,
): string | null {
  for (const [up, above] of foldersUp(folder).entries())
    for (const place of installedIn)
      if (project.names(inFolder(above, place)).includes(name))
        return `./${"../".repeat(up)}${place}/${name}`;
  return isOnPath === true && project.isOnPath(name) ? name : null;
}

/** A path and the folders above it, the nearest first; the root is the empty one. */
function foldersUp(path: string): string[] {
  const names = path === "" ? [] : path.split("/");
  return Array.from({ length: names.length + 1 }, (_, up) => names.slice(0, names.length - up).join("/"));
}
