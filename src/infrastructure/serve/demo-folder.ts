import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locale } from "../../domain/texts/locale.ts";
import { findInstallation } from "../platform/installation.ts";
import { removeTree } from "../platform/remove-tree.ts";

const CONFIG = `# The demo's configuration. A real one names real models: docs/models.md.
providers:
  demo: { type: scripted, model: demo, script: demo.yaml, local: true }
roles:
${["chat", "worker", "coder1", "coder2", "coder3"].map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n")}
`;

export async function openDemo(env: Readonly<Record<string, string | undefined>>, locale: Locale) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-demo-"));
  const installed = join(findInstallation().folder, "demo");
  const [workspace, home] = [join(folder, "workspace"), join(folder, "home")];
  const remove = async () => removeTree(folder);
  try {
    cpSync(join(installed, "project"), workspace, { recursive: true });
    // npm packs neither a folder nor a file of these names.
    cpSync(join(installed, "packages"), join(workspace, "node_modules"), { recursive: true });
    writeFileSync(join(workspace, ".gitignore"), "node_modules/\n");
    makeRepository(workspace, env.PATH);
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "config.yaml"), CONFIG);
    const answers = readFileSync(join(installed, "answers.yaml"), "utf8");
    writeFileSync(join(home, "demo.yaml"), inLanguage(answers, locale));
  } catch (error) {
    await remove();
    throw error;
  }
  return { workspace, env: { ...env, PICOCLAW_HOME: home }, remove };
}

/** A history of one commit; a machine without git gets a project without one. */
function makeRepository(workspace: string, path: string | undefined): void {
  const author = ["-c", "user.name=demo", "-c", "user.email=demo@example.com"];
  const env = { PATH: path ?? "", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  for (const args of [
    ["init", "--quiet", "--initial-branch=main", "--template="],
    ["add", "--all"],
    [...author, "commit", "--quiet", "--message=A small shop"],
  ])
    spawnSync("git", args, { cwd: workspace, env, stdio: "ignore" });
}

/** A line "English / 日本語" of an answer is said in one of the two. */
function inLanguage(answers: string, locale: Locale): string {
  const line = /^( +)(\S[^/\n]*) \/ ([^\n]*[\p{Script=Hiragana}\p{Script=Han}][^\n]*)$/gmu;
  return answers.replace(line, locale === "ja" ? "$1$3" : "$1$2");
}
