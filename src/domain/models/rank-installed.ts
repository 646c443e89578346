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

/**
 * Best first, by this order: models that talk (none that only make vectors); for code those made for code, for talk the
 * others; the largest up to a comfortable size, then the smallest above it; the name.
 */
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
export function billionsOf(told: string, name: string): number | null {
  const found =
    /^([\d.]+)\s*([BM])/i.exec(told) ?? /(?:^|[^a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/i.exec(name);
  if (found === null) return null;
  const value = Number(found[1]);
  return /m/i.test(found[2] ?? "") ? value / 1000 : value;
}

/** `name` alone means `name:latest`. */
export function isInstalled(models: readonly InstalledModel[], wanted: string): boolean {
  const full = (name: string) => (/:[^/]*$/.test(name) ? name : `${name}:latest`);
  return models.some(({ name }) => full(name) === full(wanted));
}
