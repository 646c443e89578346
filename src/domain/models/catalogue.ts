import { isJsonObject } from "../platform/json-members.ts";
import shipped from "./catalogue.json" with { type: "json" };
import type { Price, PriceTable, TokenCounts } from "./model-facts.ts";

/**
 * Facts about models: how much they read, their cost, whether they see images and accept a thinking level.
 * The shipped table carries the date on which it was last compared with the providers' lists; `models.json`
 * in PICOCLAW_HOME replaces entries of it, or adds some.
 */
export interface Catalogue {
  /** `2026-11-16`. */
  readonly dated: string;
  readonly models: Readonly<Record<string, CatalogueEntry>>;
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
  const models: [string, CatalogueEntry][] = [];
  for (const [name, entry] of Object.entries(value.models)) {
    const read = readEntry(entry);
    if (read === null) return { ok: false, where: name };
    models.push([name, read]);
  }
  return { ok: true, catalogue: { dated, models: Object.fromEntries(models) } };
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
  return Object.hasOwn(catalogue.models, model) ? (catalogue.models[model] ?? null) : null;
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

/**
 * Null: the price is unknown. `configured` (`budget.prices`) takes precedence over the table; a local model costs nothing
 * unless the configuration says otherwise.
 */
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

export const SHIPPED_CATALOGUE: Catalogue = readShipped();

function readShipped(): Catalogue {
  const reading = readCatalogue(shipped);
  if (!reading.ok) throw new Error(`catalogue.json: ${reading.where}`);
  return reading.catalogue;
}
