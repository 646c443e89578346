import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locale } from "../../domain/texts/locale.ts";
import { removeTree } from "../engine/walk-folder.ts";
import { findInstallation } from "../platform/installation.ts";

const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];

const CONFIG = `# The demo's configuration. A real one names real models: docs/models.md.
providers:
  demo: { type: scripted, model: demo, script: demo.yaml, local: true }
roles:
${ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n")}
`;

/** A workspace and a home that go when the demo ends. */
export async function openDemo(env: Readonly<Record<string, string | undefined>>, locale: Locale) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-demo-"));
  const installed = join(findInstallation().folder, "demo");
  const [workspace, home] = [join(folder, "workspace"), join(folder, "home")];
  cpSync(join(installed, "project"), workspace, { recursive: true });
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), CONFIG);
  const answers = readFileSync(join(installed, "answers.yaml"), "utf8");
  writeFileSync(join(home, "demo.yaml"), inLanguage(answers, locale));
  return {
    workspace,
    env: { ...env, PICOCLAW_HOME: home },
    remove: async () => removeTree(folder),
  };
}

/** A line "English / 日本語" of an answer is said in one of the two. */
function inLanguage(answers: string, locale: Locale): string {
  const line = /^( +)(\S[^/\n]*) \/ ([^\n]*[\p{Script=Hiragana}\p{Script=Han}][^\n]*)$/gmu;
  return answers.replace(line, locale === "ja" ? "$1$3" : "$1$2");
}
