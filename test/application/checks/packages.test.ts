/** A workspace of packages whose own command cannot run here: real programs, through one conversation. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const manifest = (more: object) => JSON.stringify({ type: "module", ...more });
const testOf = (from: string, name: string, value: number) =>
  `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { ${name} } from "${from}";\ntest("${name}", () => assert.equal(${name}(), ${value}));\n`;
/** `b` loads what the build of `a` makes, and `c` has nothing to do with either. */
const FILES = {
  "package.json": manifest({
    workspaces: ["packages/*"],
    scripts: { test: "turbo run test" },
    devDependencies: { turbo: "2" },
  }),
  "packages/a/package.json": manifest({
    name: "@x/a",
    main: "dist/a.js",
    scripts: { test: "node --test test/", build: "mkdir -p dist && cp src/a.js dist/a.js" },
  }),
  "packages/a/src/a.js": "export const one = () => 1;\n",
  "packages/a/test/a.test.js": testOf("../src/a.js", "one", 1).replace("one(), 1", "one() > 0, true"),
  "packages/b/package.json": manifest({
    name: "@x/b",
    dependencies: { "@x/a": "workspace:*" },
    scripts: { test: "node --test test/" },
  }),
  "packages/b/src/b.js": 'import { one } from "@x/a";\nexport const two = () => one() + 1;\n',
  "packages/b/test/b.test.js": testOf("../src/b.js", "two", 2),
  "packages/c/package.json": manifest({ name: "@x/c", scripts: { test: "node --test test/" } }),
  "packages/c/test/c.test.js": 'throw new Error("not asked");\n',
};

async function send(answer: string) {
  at = await openConversation(() => answer, {
    config: "coder: { attempts: 1 }\nchecks: { auto_limit: 240 }\n",
  });
  for (const [path, text] of Object.entries(FILES)) at.write(path, text);
  mkdirSync(join(at.workspace, "node_modules/@x"), { recursive: true });
  for (const name of ["a", "b", "c"])
    symlinkSync(`../../packages/${name}`, join(at.workspace, "node_modules/@x", name));
  return at.send("/code3 change it");
}

describe.if(requirePart("bwrap") && requirePart("node"))("a change of one package", () => {
  test("is judged by that package and by those that depend on it, whose siblings are built first", async () => {
    const reply = await send(
      proposal(
        "More",
        replace("packages/a/src/a.js", "export const one = () => 1;", "export const one = () => 2;"),
      ),
    );
    expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("Newly failing")]);
    expect(Object.keys(at.tree())).not.toContain("packages/a/dist/a.js");
  });

  test("lands with the package's own command and its file named", async () => {
    const reply = await send(
      proposal("Say", replace("packages/b/src/b.js", "export const two", "// Two.\nexport const two")),
    );
    expect(reply.text.split("\n")[0]).toContain("cd packages/b && npm test 1 passed");
    expect(reply.text).toContain("judged; it is the check of packages/b/package.json.");
  });
});
