import { copyFileSync, cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInstallation } from "../runtime/installation.ts";
import { removeTree } from "../work/folder/remove-tree.ts";

const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];

const CONFIG = `# The demo's configuration. A real one names real models: docs/models.md.
providers:
  demo: { type: scripted, model: demo, script: demo.yaml, local: true }
roles:
${ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n")}
`;

/** A workspace and a home that go when the demo ends. */
export async function openDemo(env: Readonly<Record<string, string | undefined>>) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-demo-"));
  const installed = join(findInstallation().folder, "demo");
  const [workspace, home] = [join(folder, "workspace"), join(folder, "home")];
  cpSync(join(installed, "project"), workspace, { recursive: true });
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), CONFIG);
  copyFileSync(join(installed, "answers.yaml"), join(home, "demo.yaml"));
  return {
    workspace,
    env: { ...env, PICOCLAW_HOME: home },
    remove: async () => removeTree(folder),
  };
}
