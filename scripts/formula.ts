/**
 * `bun scripts/formula.ts SUMS REPOSITORY_URL`: the Homebrew formula of this version on standard output, with the sums of the
 * files of its release (`sha256sum` of them, one a line).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const [sums, repository] = process.argv.slice(2);
if (sums === undefined || repository === undefined || !/^https:\/\/\S+[^/]$/.test(repository)) {
  console.error("usage: formula.ts SHA256SUMS https://github.com/OWNER/picoclaw");
  process.exit(2);
}
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const known = new Map(
  [...readFileSync(sums, "utf8").matchAll(/^([0-9a-f]{64}) [ *](\S+)$/gm)].map(
    ([, sum = "", name = ""]) => [name, sum] as const,
  ),
);
const formula = readFileSync(join(root, "packaging/picoclaw.rb"), "utf8")
  .replace(/^# scripts.*\n/m, "")
  .replaceAll("@HOMEPAGE@", repository)
  .replaceAll("@BASE@", `${repository}/releases/download/v${version}`)
  .replaceAll("@VERSION@", version)
  .replace(/@SHA256:([\w-]+)@/g, (_, platform: string) => {
    const sum = known.get(`picoclaw-${version}-${platform}`);
    if (sum === undefined) throw new Error(`${sums} has no sum of picoclaw-${version}-${platform}`);
    return sum;
  });
process.stdout.write(formula);
