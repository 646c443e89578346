import { isJsonObject } from "../platform/json-members.ts";
import shipped from "./catalogue.json" with { type: "json" };
import type { Price, PriceTable, TokenCounts } from "./model-facts.ts";

/** Facts about models, compared with the providers' lists on `dated`. `models.json` in PICOCLAW_HOME replaces or adds entries. */
export interface Catalogue {
  /** `2026-11-16`. */
  readonly dated: string;
  /** As the file has them. `findInCatalogue` reads one of them: a message asks for few of some hundred. */
  readonly models: Readonly<Record<string, unknown>>;
}

export interface CatalogueEntry {
  /** In tokens. */
  readonly context: number | null;
  /** Null: unknown. */
  readonly price: Price | null;
  readonly images: boolean | null;
  readonly effort: boolean | null;
  /** Where the price was read: at the vendor's own page, or in a list of others. */
  readonly source: "vendor" | "reported" | null;
}

export type CatalogueReading =
  | { readonly ok: true; readonly catalogue: Catalogue }
  /** `where` names the entry, or nothing where the whole is not a table. */
  | { readonly ok: false; readonly where: string };

/** The value of a table's file. One unreadable entry refuses the whole: half a price list is useless. */
export function readCatalogue(value: unknown): CatalogueReading {
  if (!isJsonObject(value) || !isJsonObject(value.models)) return { ok: false, where: "" };
  const { dated = "" } = value;
  if (typeof dated !== "string" || !/^(?:\d{4}-\d{2}-\d{2})?$/.test(dated))
    return { ok: false, where: "dated" };
  for (const [name, entry] of Object.entries(value.models))
    if (readEntry(entry) === null) return { ok: false, where: `models.${name}` };
  return { ok: true, catalogue: { dated, models: value.models } };
}

const FIELDS = new Set(["context", "input", "output", "cached", "images", "effort", "source"]);

function readEntry(entry: unknown): CatalogueEntry | null {
  if (!isJsonObject(entry) || Object.keys(entry).some((name) => !FIELDS.has(name))) return null;
  const { context = null, images = null, effort = null, source = null } = entry;
  const { input, output, cached = input } = entry;
  if (!isAmountOrNull(context) || !isFlagOrNull(images) || !isFlagOrNull(effort)) return null;
  if (!isSourceOrNull(source)) return null;
  const facts = { context, images, effort, source };
  if (input === undefined && output === undefined && cached === undefined) return { ...facts, price: null };
  if (!isAmount(input) || !isAmount(output) || !isAmount(cached)) return null;
  return { ...facts, price: { input, output, cached } };
}

/** Entries of the second go before those of the first. */
export function mergeCatalogues(base: Catalogue, own: Catalogue): Catalogue {
  return { dated: own.dated || base.dated, models: { ...base.models, ...own.models } };
}

/** Null: nothing is known of it. */
export function findInCatalogue(catalogue: Catalogue, model: string): CatalogueEntry | null {
  return Object.hasOwn(catalogue.models, model) ? readEntry(catalogue.models[model]) : null;
}

/** The facts about a model, by a table that is read when the first is asked for. */
export function factsByCatalogue(read: () => Catalogue): (model: string) => CatalogueEntry | null {
  const known: { catalogue?: Catalogue } = {};
  return (model) => {
    known.catalogue ??= read();
    return findInCatalogue(known.catalogue, model);
  };
}

const MILLION = 1_000_000;
const FREE: Price = { input: 0, output: 0, cached: 0 };

/** Null: unknown. `configured` (`budget.prices`) takes precedence over the table; a local model is free unless it says otherwise. */
export function priceOf(
  { model, local }: { readonly model: string; readonly local: boolean },
  configured: PriceTable = {},
  catalogue: Catalogue = SHIPPED_CATALOGUE,
): Price | null {
  const own = Object.hasOwn(configured, model) ? configured[model] : undefined;
  if (own !== undefined) return own;
  return local ? FREE : (findInCatalogue(catalogue, model)?.price ?? null);
}

/** The cost of an answer by the tables; null where no table states the price of its model. */
export function costBy(configured: PriceTable, catalogue: Catalogue) {
  return (model: Parameters<typeof priceOf>[0], usage: TokenCounts): number | null => {
    const price = priceOf(model, configured, catalogue);
    return price === null ? null : costOf(usage, price);
  };
}

/** In US dollars. */
export function costOf(usage: TokenCounts, price: Price): number {
  const cached = Math.min(usage.cachedTokens, usage.inputTokens);
  const fresh = usage.inputTokens - cached;
  return (fresh * price.input + cached * price.cached + usage.outputTokens * price.output) / MILLION;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isAmountOrNull(value: unknown): value is number | null {
  return value === null || isAmount(value);
}

function isSourceOrNull(value: unknown): value is CatalogueEntry["source"] {
  return value === null || value === "vendor" || value === "reported";
}

function isFlagOrNull(value: unknown): value is boolean | null {
  return value === null || typeof value === "boolean";
}

/** A test holds that each of its entries can be read. */
export const SHIPPED_CATALOGUE: Catalogue = shipped;

/** A model that a server has on its own machine. */
export interface InstalledModel {
  readonly name: string;
  /** Billions of parameters; null if unknown. */
  readonly billions: number | null;
}

type Purpose = "talk" | "code";

/** The sizes that fit a common machine: larger models are slow, and last. */
const COMFORTABLE: Readonly<Record<Purpose, number>> = { talk: 14, code: 34 };
const UNKNOWN_SIZE = 7;

/** Best first: made for the purpose; the largest up to a comfortable size, then the smallest above it. Models of vectors are left out. */
export function rankInstalled(models: readonly InstalledModel[], purpose: Purpose): InstalledModel[] {
  return models
    .filter(({ name }) => !/embed|bge-|minilm|rerank/i.test(name))
    .toSorted(
      (a, b) =>
        fit(b, purpose) - fit(a, purpose) ||
        distance(a, purpose) - distance(b, purpose) ||
        (a.name < b.name ? -1 : 1),
    );
}

function fit({ name }: InstalledModel, purpose: Purpose): number {
  if (/llava|moondream|vision|ocr|guard/i.test(name)) return 0;
  const isForCode = /code|coder|devstral|starcoder/i.test(name);
  return isForCode === (purpose === "code") ? 2 : 1;
}

/** Below the comfortable size, larger is nearer; models above it rank after all of those. */
function distance({ billions }: InstalledModel, purpose: Purpose): number {
  const most = COMFORTABLE[purpose];
  const size = billions ?? UNKNOWN_SIZE;
  return size <= most ? most - size : size;
}

/** `8.0B` and `137M` as servers tell it, else the `8b` of a name. */
export function billionsOf(size: string, name: string): number | null {
  const found =
    /^([\d.]+)\s*([BM])/i.exec(size) ?? /(?:^|[^a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/i.exec(name);
  if (found === null) return null;
  const value = Number(found[1]);
  return /m/i.test(found[2] ?? "") ? value / 1000 : value;
}

/** `name` alone means `name:latest`. */
export function isInstalled(models: readonly InstalledModel[], wanted: string): boolean {
  const full = (name: string) => (/:[^/]*$/.test(name) ? name : `${name}:latest`);
  return models.some(({ name }) => full(name) === full(wanted));
}

/** A model's name in its parts: `claude-sonnet-5-5` is version 5.5 of the line `claude-sonnet`. */
type ModelName = ReturnType<typeof readModelName>;

const PREVIEW = new Set(["preview", "exp", "experimental", "beta"]);

/** The vendor before the last `/` is left out: gateways call the same model by a longer name. */
function readModelName(name: string) {
  const words = (name.split("/").at(-1) ?? name).toLowerCase().split(/[-.:@]/);
  const version: number[] = [];
  const line: string[] = [];
  /** A dated copy, or an alias that moves (`latest`): another name of a model that is listed too. */
  let isAlias = false;
  let isPreview = false;
  for (const word of words) {
    if (/^v?\d{1,2}$/.test(word)) version.push(Number(word.replace("v", "")));
    else if (/^\d{4,8}$/.test(word) || word === "latest") isAlias = true;
    else if (PREVIEW.has(word)) isPreview = true;
    else line.push(word);
  }
  return { name, line: line.join("-"), version, isAlias, isPreview };
}

/** Newest first; within one version, releases before previews, then the shorter name. */
function compareNames(a: ModelName, b: ModelName): number {
  for (let i = 0; i < Math.max(a.version.length, b.version.length); i++) {
    const by = (b.version[i] ?? 0) - (a.version[i] ?? 0);
    if (by !== 0) return by;
  }
  return Number(a.isPreview) - Number(b.isPreview) || a.name.length - b.name.length;
}

/** The newest model of a line that a provider lists, an alias only where nothing else is there; undefined: none of that line. */
function findInLine(offered: readonly string[], model: string): ModelName | undefined {
  const { line } = readModelName(model);
  const [newest] = offered
    .map(readModelName)
    .filter((one) => one.line === line)
    .toSorted((a, b) => Number(a.isAlias) - Number(b.isAlias) || compareNames(a, b));
  return newest;
}

/** The newest model of the same line that a provider lists; null: it lists none that is newer than this one. */
export function findNewer(offered: readonly string[], model: string): string | null {
  const newest = findInLine(offered, model);
  const isNewer = newest !== undefined && !newest.isAlias && compareNames(newest, readModelName(model)) < 0;
  // A server may list the name of a file that is configured by its path.
  const isSame = newest?.name.split("/").at(-1) === model.split("/").at(-1);
  return isNewer && !isSame ? newest.name : null;
}

/** The successor of a model that a provider no longer lists; null if it could only be guessed. */
export function findSuccessor(
  offered: readonly string[],
  model: string,
  catalogue: Catalogue,
): string | null {
  const inLine = findInLine(offered, model);
  if (inLine !== undefined) return inLine.name;
  return findInCatalogue(catalogue, model) === null ? null : chooseOffered(offered, [model], catalogue);
}

/** Nearest to the usual ones: the newest of a line, else of the nearest price, else one made for code. Null: the list is empty. */
export function chooseOffered(
  offered: readonly string[],
  usual: readonly string[],
  catalogue: Catalogue,
): string | null {
  for (const model of usual) {
    const newest = findInLine(offered, model);
    if (newest !== undefined) return newest.name;
  }
  const outputPrice = (model: string) => findInCatalogue(catalogue, model)?.price?.output;
  const wanted = usual.map(outputPrice).find((price) => price !== undefined) ?? 0;
  const known = offered
    .flatMap((name) => {
      const price = outputPrice(name);
      return price === undefined ? [] : [{ ...readModelName(name), far: Math.abs(price - wanted) }];
    })
    .toSorted((a, b) => (b.version[0] ?? 0) - (a.version[0] ?? 0) || a.far - b.far || compareNames(a, b));
  return known[0]?.name ?? offered.find((name) => /coder?/i.test(name)) ?? offered[0] ?? null;
}
