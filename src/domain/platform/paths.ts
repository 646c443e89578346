export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

export function isWithin(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isInside(folder, path));
}

/** The folder of a path below a root; "" is the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** The folders above a path, innermost first, without the root. */
export function* foldersAbove(path: string): Generator<string> {
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
    yield path.slice(0, slash);
}

export function quoteWords(argv: readonly string[]): string {
  return argv
    .map((word) => (/^[A-Za-z0-9_./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
