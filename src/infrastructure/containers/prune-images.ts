import type { Engine } from "./docker-engine.ts";

interface ListedImage {
  readonly RepoTags: readonly string[] | null;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** What is made over other images: its name ends with the beginnings of their ids, joined by a dash. */
const MADE_OVER: Readonly<Record<string, readonly string[]>> = {
  "picoclaw-worker": ["picoclaw.worker", "picoclaw.derived-from"],
  "picoclaw-derived": ["picoclaw.derived-from"],
};

/**
 * Removes images that were made over others which have been built or pulled anew since, or are gone: nobody asks for them
 * again. Those that a container uses stay.
 */
export async function pruneImages(
  engine: Engine,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const filters = JSON.stringify({ reference: Object.keys(MADE_OVER) });
  const listed = await engine.call<readonly ListedImage[]>({
    method: "GET",
    path: "/images/json",
    query: { filters },
    signal,
  });
  if (!listed.ok) return [];
  const removed: string[] = [];
  for (const { RepoTags, Labels } of listed.value)
    for (const name of RepoTags ?? []) {
      if (!(await isOutdated(engine, name, Labels ?? {}, signal))) continue;
      const answer = await engine.call({
        method: "DELETE",
        path: `/images/${encodeURIComponent(name)}`,
        signal,
      });
      if (answer.ok) removed.push(name);
    }
  return removed;
}

async function isOutdated(
  engine: Engine,
  name: string,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const [kind = "", ids = ""] = name.split(":");
  const below = (MADE_OVER[kind] ?? []).map((label) => labels[label]);
  const known = ids.split("-");
  if (below.length === 0 || below.length !== known.length) return false;
  for (const [at, image] of below.entries()) {
    if (image === undefined) return false;
    const facts = await engine.call<{ readonly Id: string }>({
      method: "GET",
      path: `/images/${encodeURIComponent(image)}/json`,
      signal,
    });
    if (!facts.ok && facts.code !== "image-missing") return false;
    if (!facts.ok || !facts.value.Id.replace(/^sha256:/, "").startsWith(known[at] ?? "")) return true;
  }
  return false;
}
