/** The files below a folder, one line a folder with its files behind it; where not all fit, folders with their counts. */
export function folderTree(paths: readonly string[], under: string, limit: number): string {
  const top = under.replace(/^\.?\/|\/$/g, "").replace(/^\.$/, "");
  const below = paths.filter((path) => top === "" || path.startsWith(`${top}/`));
  if (below.length === 0) return paths.includes(top) ? `${top} is a file` : `there is no folder ${top}`;
  const folders = Map.groupBy(below, (path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  const whole = [...folders].map(
    ([folder, files]) => `${folder || "."}/ ${files.map(lastPathName).join(" ")}`,
  );
  if (whole.join("\n").length <= limit) return whole.join("\n");
  const counted: string[] = [];
  let left = limit;
  for (const [folder, files] of folders) {
    const line = `${folder || "."}/ (${files.length} files)`;
    left -= line.length + 1;
    if (left < 60) {
      counted.push(`… and ${folders.size - counted.length} more folders`);
      break;
    }
    counted.push(line);
  }
  return counted.join("\n");
}

function lastPathName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
