import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** What commands of a job may not even read in a user's home. */
const SECRET_PATHS = [
  ".ssh",
  ".aws",
  ".azure",
  ".oci",
  ".boto",
  ".s3cfg",
  ".gnupg",
  ".kube",
  ".docker",
  ".netrc",
  ".git-credentials",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".databrickscfg",
  ".vault-token",
  ".terraform.d/credentials.tfrc.json",
  ".terraformrc",
  ".password-store",
  ".Xauthority",
  ".ICEauthority",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".sqlite_history",
  ".local/share/fish/fish_history",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".m2/settings-security.xml",
  ".gradle/gradle.properties",
  ".composer/auth.json",
  ".nuget/NuGet/NuGet.Config",
  ".config/composer/auth.json",
  ".config/containers/auth.json",
  ".config/doctl",
  ".config/fly",
  ".fly",
  ".config/gcloud",
  ".config/gh",
  ".config/git/credentials",
  ".config/github-copilot",
  ".config/glab-cli",
  ".config/heroku",
  ".config/hcloud",
  ".config/hub",
  ".config/ngrok",
  ".config/op",
  ".config/rclone",
  ".config/sops",
  ".config/age",
  ".config/stripe",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".mozilla",
  ".thunderbird",
  ".cache/mozilla",
  ".cache/thunderbird",
  ".cache/google-chrome",
  ".cache/chromium",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/opera",
  ".config/vivaldi",
  ".config/Signal",
  ".config/Slack",
  ".config/discord",
  "snap/firefox",
  "snap/chromium",
  ".var/app",
  ".claude",
  ".claude.json",
  ".codex",
  ".gemini",
  ".config/opencode",
  ".local/share/opencode",
] as const;

/**
 * The secrets that a home really holds, as absolute paths without a link on the way. One that is itself a link is named
 * twice, by its own name and by what it leads to.
 */
export function findHomeSecrets(home: string): string[] {
  const paths = [...SECRET_PATHS, ...(holdsToken(join(home, ".npmrc")) ? [".npmrc"] : [])];
  return paths.flatMap((path) => namesOf(join(home, path)));
}

function namesOf(path: string): string[] {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    const own = join(realpathSync(dirname(path)), basename(path));
    return stats.isSymbolicLink() && existsSync(own) ? [own, realpathSync(own)] : [own];
  } catch {
    return [];
  }
}

function holdsToken(file: string): boolean {
  try {
    return /_auth(Token)?\s*=|_password\s*=/.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}
