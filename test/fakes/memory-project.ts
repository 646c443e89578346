import type { ProjectFiles } from "../../src/application/ports/drafts.ts";

/** A project in memory: paths and their texts. */
export function memoryProject(files: Readonly<Record<string, string>>): ProjectFiles {
  return {
    list: (limit) => Object.keys(files).slice(0, limit),
    read: (path, limit) => {
      const text = files[path];
      return text === undefined ? null : { text: text.slice(0, limit), cut: text.length > limit };
    },
    sizeOf: (path) => files[path]?.length ?? 0,
    find: (paths, words) => ({
      searched: paths.length,
      hits: paths.flatMap((path) => {
        const text = files[path] ?? "";
        const terms = words.flatMap(({ spellings, anyCase }, at) =>
          spellings.some((one) => (anyCase ? text.toLowerCase() : text).includes(one)) ? [at] : [],
        );
        return terms.length === 0 ? [] : [{ path, terms }];
      }),
    }),
    source: { judges: () => true, look: () => ({ kind: "missing" }) },
    planOptions: { inflate: (data) => data },
  };
}
