export interface ProjectFacts {
  /** The text of a file of the root; null where there is none. */
  readonly read: (name: string) => string | null;
  /** Whether there is such a file or folder, ignored or not. */
  readonly has: (name: string) => boolean;
}

const MOST_SCRIPTS = 10;
const LONGEST_SCRIPT = 80;

/** How the project is run, and whether its dependencies are there: a line a tool, none for a folder without any. */
export function projectFacts(project: ProjectFacts): string {
  return [npmFacts(project), pythonFacts(project), ...otherFacts(project)]
    .filter((line) => line !== "")
    .join("\n");
}

function npmFacts({ read, has }: ProjectFacts): string {
  const text = read("package.json");
  if (text === null) return "";
  const { scripts, type, dependencies, devDependencies } = parsed(text);
  const lines = Object.entries(record(scripts))
    .filter(([name, script]) => typeof script === "string" && !/^(?:pre|post)/.test(name))
    .slice(0, MOST_SCRIPTS)
    .map(([name, script]) => `${name}: ${String(script).slice(0, LONGEST_SCRIPT)}`);
  const wants = Object.keys({ ...record(dependencies), ...record(devDependencies) }).length > 0;
  const installed = has("node_modules");
  return [
    `package.json${type === "module" ? " (ES modules)" : ""}`,
    lines.length > 0 ? `scripts { ${lines.join("; ")} }` : "no scripts",
    ...(wants ? [installed ? "dependencies are installed" : "dependencies are NOT installed"] : []),
  ].join(", ");
}

function pythonFacts({ read, has }: ProjectFacts): string {
  const found = ["pyproject.toml", "setup.py", "requirements.txt"].find((name) => read(name) !== null);
  if (found === undefined) return "";
  const venv = [".venv", "venv"].find(has);
  return `${found}, ${venv === undefined ? "no virtual environment in the folder" : `virtual environment ${venv}`}`;
}

function otherFacts({ read }: ProjectFacts): string[] {
  const makefile = read("Makefile");
  const targets = [...(makefile ?? "").matchAll(/^([a-z][\w-]*)\s*:(?!=)/gim)].map(([, name]) => name);
  return [
    ...(read("Cargo.toml") === null ? [] : ["Cargo.toml (Rust)"]),
    ...(read("go.mod") === null ? [] : ["go.mod (Go)"]),
    ...(targets.length === 0 ? [] : [`Makefile targets: ${[...new Set(targets)].slice(0, 12).join(", ")}`]),
  ];
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return record(JSON.parse(text));
  } catch {
    return {};
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
