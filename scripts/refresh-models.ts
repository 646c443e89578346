/**
 * Refreshes `src/domain/models/catalogue.json` and the table of `docs/models.md` from a package of the npm registry that ships
 * dated facts about models (windows, prices, what they see). Only facts are taken. An entry that was read at its vendor's own
 * page stays as it is and is printed where the package differs.
 *
 *   bun scripts/refresh-models.ts [FOLDER DATE]     FOLDER: the unpacked package, instead of fetching it
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGE = "@earendil-works/pi-ai";
const PROVIDERS = ["anthropic", "openai", "google", "deepseek", "openrouter"];
/** Models of a gateway are taken where the table has them already, all others where they are for a coder. */
const GATEWAY = "openrouter";
const LEAST_CONTEXT = 100_000;
const NOT_FOR_CODERS = /\d{4}|latest|research|computer-use|robotics|customtools|cyber|daybreak|gemma|^o1/;

const ROOT = join(import.meta.dir, "..");
const CATALOGUE = join(ROOT, "src/domain/models/catalogue.json");
const PAGE = join(ROOT, "docs/models.md");

interface PackagedModel {
  readonly id: string;
  readonly type: string;
  readonly contextWindow: number;
  readonly input: readonly string[];
  readonly reasoning?: boolean;
  readonly cost: { readonly input: number; readonly output: number; readonly cacheRead: number };
}

interface Entry {
  readonly context: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly images: boolean;
  readonly effort: boolean;
  readonly source: string;
}

interface Table {
  readonly dated: string;
  readonly from: string;
  readonly models: Readonly<Record<string, Entry>>;
}

/** The table as it is with the package's facts, and what a person should look at. */
export function refreshTable(old: Table, folder: string, about: Pick<Table, "dated" | "from">) {
  const models: Record<string, Entry> = {};
  const differing: string[] = [];
  for (const provider of PROVIDERS)
    for (const model of readProvider(folder, provider)) {
      const known = old.models[model.id];
      const isWanted = provider !== GATEWAY && model.contextWindow >= LEAST_CONTEXT;
      if (known === undefined && (!isWanted || NOT_FOR_CODERS.test(model.id))) continue;
      const entry = toEntry(model);
      const isVendors = known?.source === "vendor";
      if (isVendors && JSON.stringify({ ...entry, source: "vendor" }) !== JSON.stringify(known))
        differing.push(
          `${model.id}: ${JSON.stringify(known)} at the vendor, ${JSON.stringify(entry)} reported`,
        );
      models[model.id] = isVendors ? known : entry;
    }
  const gone = Object.keys(old.models).filter((name) => !(name in models));
  return { table: { ...about, models } satisfies Table, differing, gone };
}

function readProvider(folder: string, provider: string): PackagedModel[] {
  const file = join(folder, "dist/providers/data", `${provider}.json`);
  const byApi = JSON.parse(readFileSync(file, "utf8")) as Record<string, Record<string, PackagedModel>>;
  return Object.values(byApi)
    .flatMap((models) => Object.values(models))
    .filter(({ type }) => type === "chat");
}

function toEntry({ contextWindow, cost, input, reasoning }: PackagedModel): Entry {
  return {
    context: contextWindow,
    input: cost.input,
    output: cost.output,
    cached: cost.cacheRead || cost.input,
    images: input.includes("image"),
    effort: reasoning === true,
    source: "reported",
  };
}

/** The rows of the page, between the head of its table and the next empty line. */
export function writeRows(page: string, { dated, from, models }: Table): string {
  const yes = (flag: boolean) => (flag ? "yes" : "no");
  const rows = Object.entries(models).map(
    ([name, one]) =>
      `| \`${name}\` | ${one.context} | ${one.input} / ${one.output} / ${one.cached} | ${yes(one.images)} | ${yes(one.effort)} | ${one.source} |`,
  );
  return page
    .replace(/as of \d{4}-\d{2}-\d{2}(?: \(\S+ [\d.]+\))?/, `as of ${dated} (${from})`)
    .replace(
      /(\| model \|[^\n]*\n\|[-|]+\n)(?:\|[^\n]*\n)*/,
      (_, head: string) => `${head}${rows.join("\n")}\n`,
    );
}

function fetchPackage(): { readonly folder: string; readonly date: string } {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-models-"));
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: folder, encoding: "utf8" });
  const { version, time } = JSON.parse(npm("view", PACKAGE, "version", "time", "--json")) as {
    version: string;
    time: Record<string, string>;
  };
  const [packed = ""] = npm("pack", `${PACKAGE}@${version}`, "--silent").trim().split("\n").slice(-1);
  execFileSync("tar", ["xzf", packed, "--strip-components=1"], { cwd: folder });
  return { folder, date: (time[version] ?? "").slice(0, 10) };
}

if (import.meta.main) {
  const [given, date = ""] = process.argv.slice(2);
  const fetched = given === undefined ? fetchPackage() : { folder: given, date };
  try {
    const { version } = JSON.parse(readFileSync(join(fetched.folder, "package.json"), "utf8")) as {
      version: string;
    };
    const old = JSON.parse(readFileSync(CATALOGUE, "utf8")) as Table;
    const about = { dated: fetched.date, from: `${PACKAGE} ${version}` };
    const { table, differing, gone } = refreshTable(old, fetched.folder, about);
    writeFileSync(CATALOGUE, `${JSON.stringify(table, null, 2)}\n`);
    writeFileSync(PAGE, writeRows(readFileSync(PAGE, "utf8"), table));
    console.log(`${Object.keys(table.models).length} models as of ${table.dated} (${table.from})`);
    for (const line of differing) console.log(`differs: ${line}`);
    for (const name of gone) console.log(`gone: ${name}`);
  } finally {
    if (given === undefined) rmSync(fetched.folder, { recursive: true });
  }
}
