const SLUG_CHARS = 40;

/**
 * `picoclaw/7-fix-the-login`: the branch of an issue. Only what every forge, file system and shell takes; a title
 * with no such letters gives the number alone. `attempt` counts up where somebody else has the name.
 */
export function branchName(number: number, title: string, attempt = 1): string {
  const slug = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, SLUG_CHARS)
    .replace(/^-+|-+$/g, "");
  return [`picoclaw/${number}`, ...(slug === "" ? [] : [slug]), ...(attempt > 1 ? [attempt] : [])].join("-");
}
