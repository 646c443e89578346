/**
 * Writes the languages into the doors of `src/domain/texts/`: each imports the texts of its feature in every language, so that a
 * command loads the texts of its own features alone. `scripts/gen-config-docs.ts` runs it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const FOLDER = "src/domain/texts";
const TABLE = /^(const TEXTS: Readonly<Record<Locale, typeof en>> = )\{.*\};$/m;
const LANGUAGE = /^import \* as (\w+) from "(\.[^"]+)";\n/gm;
const IMPORT = /^import .* from "(\.[^"]+)";\n/gm;

/** The doors below a checkout, each with the content that it has for these languages. */
export function renderTextDoors(root: string, locales: readonly string[]): ReadonlyMap<string, string> {
  const codes = [...locales].sort();
  const doors = readdirSync(join(root, FOLDER))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [join(root, FOLDER, name), readFileSync(join(root, FOLDER, name), "utf8")] as const)
    .filter(([, text]) => TABLE.test(text));
  return new Map(doors.map(([path, text]) => [path, renderDoor(text, basename(path), codes)]));
}

function renderDoor(text: string, file: string, codes: readonly string[]): string {
  const others = [...text.matchAll(IMPORT)].filter(([line]) => !line.startsWith("import * as "));
  const imports = [
    ...others.map(([line, path = ""]) => ({ path, line })),
    ...codes.map((code) => ({
      path: `./${code}/${file}`,
      line: `import * as ${code} from "./${code}/${file}";\n`,
    })),
  ].sort((one, other) => (one.path < other.path ? -1 : 1));
  return (
    imports.map(({ line }) => line).join("") +
    text.replace(IMPORT, "").replace(TABLE, `$1{ ${codes.join(", ")} };`)
  );
}

/** The door with each language read when it is first asked for. Other files stay as they are. */
export function renderLateDoor(text: string): string {
  if (!TABLE.test(text)) return text;
  const members: string[] = [];
  const rest = text.replace(LANGUAGE, (_, code: string, path: string) => {
    members.push(`get ${code}() { return require("${path}"); }`);
    return "";
  });
  return rest.replace(TABLE, `$1{ ${members.join(", ")} };`);
}

export function writeTextDoors(root: string, locales: readonly string[]): void {
  for (const [path, text] of renderTextDoors(root, locales)) writeFileSync(path, text);
}
