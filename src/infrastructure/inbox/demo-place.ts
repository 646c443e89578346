import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
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

const FILES: Readonly<Record<string, string>> = {
  "hello.txt": "hello\n",
  "greet.py": 'def greet(name):\n    return "Hello, " + name\n\n\nprint(greet("world"))\n',
  "README.md": "# A small project\n\nIt greets. Ask PicoClaw to change it, then take the change back.\n",
};

/** A workspace and a home that go when the demo ends. */
export async function openDemo(env: Readonly<Record<string, string | undefined>>) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-demo-"));
  const [workspace, home] = [join(folder, "workspace"), join(folder, "home")];
  mkdirSync(workspace);
  mkdirSync(home, { mode: 0o700 });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(workspace, name), text);
  writeFileSync(join(home, "config.yaml"), CONFIG);
  copyFileSync(join(findInstallation().folder, "demo/answers.yaml"), join(home, "demo.yaml"));
  return {
    workspace,
    env: { ...env, PICOCLAW_HOME: home },
    remove: async () => removeTree(folder),
  };
}
