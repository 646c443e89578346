export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly excerpt: string;
}

const MOST_RESULTS = 10;
const EXCERPT_CHARS = 300;
/** Where the engines that answer in JSON keep their list. */
const RESULT_LISTS = ["results", "items", "webPages", "web", "data", "organic", "value"];

/** The results of a search engine that answers in JSON, whichever it is; none where it is something else. */
export function readSearchResults(text: string): SearchResult[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return listIn(value, 3).flatMap(resultOf).slice(0, MOST_RESULTS);
}

function listIn(value: unknown, depth: number): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  for (const name of RESULT_LISTS) {
    const found = listIn((value as Readonly<Record<string, unknown>>)[name], depth - 1);
    if (found.length > 0) return found;
  }
  return [];
}

function resultOf(item: unknown): SearchResult[] {
  if (typeof item !== "object" || item === null) return [];
  const fields = item as Readonly<Record<string, unknown>>;
  const first = (...names: readonly string[]): string => {
    const found = names.map((name) => fields[name]).find((one) => typeof one === "string" && one !== "");
    return typeof found === "string" ? found.replace(/\s+/g, " ").trim() : "";
  };
  const url = first("url", "link", "href");
  if (!/^https?:\/\//.test(url)) return [];
  const excerpt = first("content", "snippet", "description", "body", "text").slice(0, EXCERPT_CHARS);
  return [{ title: first("title", "name") || url, url, excerpt }];
}
