/** One simple call of a script, and the program that it needs. */
export interface ScriptCall {
  readonly text: string;
  readonly program: string;
}

export interface ScriptChain {
  readonly calls: readonly ScriptCall[];
  /** The scripts that it runs, with its own. */
  readonly scripts: readonly string[];
}

type Scripts = Readonly<Record<string, string | undefined>>;

const OTHER_SCRIPT = /^(?:npm|pnpm|yarn|bun)(?: run(?:-script)?)?(?: (?:-s|--silent))* ([\w:.-]+)$/;
const VARIABLES = /^(?:(?:[A-Za-z_]\w*=\S+|cross-env|npx|--no-install|-y|--yes) +)*/;

/** What a script of a `package.json` comes down to: its `pre` and `post` scripts and the scripts that it runs, call by call. */
export function scriptChain(scripts: Scripts, name: string, seen: readonly string[] = []): ScriptChain {
  if (seen.includes(name)) return { calls: [], scripts: [] };
  const path = [...seen, name];
  const texts = [`pre${name}`, name, `post${name}`].flatMap((key) => scripts[key] ?? []);
  const parts = texts.flatMap((text) => text.split("&&")).map((part) => part.trim());
  const chains = parts.map((text): ScriptChain => {
    const other = OTHER_SCRIPT.exec(text)?.[1];
    if (other !== undefined && scripts[other] !== undefined) return scriptChain(scripts, other, path);
    const [program = ""] = text.replace(VARIABLES, "").split(/\s/, 1);
    return { calls: [{ text, program }], scripts: [] };
  });
  return {
    calls: chains.flatMap(({ calls }) => calls),
    scripts: [name, ...chains.flatMap((chain) => chain.scripts)],
  };
}

const SCRIPT_RUNNERS = [
  "tape",
  "mocha",
  "jest",
  "vitest",
  "ava",
  "tap",
  "uvu",
  "jasmine",
  "node",
  "tsx",
  "ts-node",
];
const EVERYWHERE = ["node", "npm", "sh", "bash", "make", "echo", "true", "test", "mkdir", "rm", "cp", "git"];
const COVERAGE = /^(?:nyc|c8)(?: +--?\S+)* +/;

export interface Installed {
  /** Everything that the chain needs is there. */
  readonly isWhole: boolean;
  /** The calls of test runners that can run, without a measurement of coverage that is not installed. */
  readonly tests: readonly string[];
  /** The first program that is not there. */
  readonly missing: string | null;
}

/** How much of a chain can run with these programs of `node_modules/.bin`. */
export function installedOf({ calls }: ScriptChain, programs: readonly string[]): Installed {
  const isThere = (program: string) => programs.includes(program) || EVERYWHERE.includes(program);
  const missing = calls.find(({ program }) => !isThere(program))?.program ?? null;
  const tests = calls.flatMap(({ text, program }) => {
    const bare = isThere(program) ? text : text.replace(COVERAGE, "");
    const [runner = ""] = bare.replace(VARIABLES, "").replace(COVERAGE, "").split(/\s/, 1);
    return SCRIPT_RUNNERS.includes(runner) && isThere(runner) ? [bare] : [];
  });
  return { isWhole: missing === null, tests, missing };
}
