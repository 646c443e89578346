/** A coding conversation of ten turns on a sample repository that ends in passing tests, undone turn by turn. */
import { afterEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { proposal, replace, worked } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const CART = `export function total(items) {
  let sum = 0;
  for (const item of items) sum += item.price;
  return sum;
}
`;
const TEST = `import { test } from "node:test";
import assert from "node:assert";
import { total } from "../src/cart.mjs";

test("total counts quantities", () => {
  assert.equal(total([{ price: 2, quantity: 3 }]), 6);
});
`;

/** The answers of the coders and of Shiro, turn by turn; a turn may take several answers. */
const TURNS: readonly { readonly message: string; readonly answers: readonly (string | object)[] }[] = [
  {
    message: "/code3 total in src/cart.mjs should count quantities",
    answers: [
      proposal(
        "Multiply by the quantity",
        replace(
          "src/cart.mjs",
          "  for (const item of items) sum += item.price;",
          "  for (const item of items) sum += item.price * item.quantity;",
        ),
      ),
    ],
  },
  {
    message: "/code2 a missing quantity is one, in src/cart.mjs",
    answers: [
      proposal(
        "Default the quantity",
        "*** Begin Patch\n*** Update File: src/cart.mjs\n@@ export function total(items) {\n   let sum = 0;\n-  for (const item of items) sum += item.price * item.quantity;\n+  for (const item of items) sum += item.price * (item.quantity ?? 1);\n   return sum;\n*** End Patch",
      ),
    ],
  },
  {
    message: "/code1 add a discount function",
    answers: [
      proposal(
        "Add discount",
        '```js:src/discount.mjs\nexport function discount(sum, percent) {\n  return sum - sum / percent;\n}\n```\n```js:test/discount.test.mjs\nimport { test } from "node:test";\nimport assert from "node:assert";\nimport { discount } from "../src/discount.mjs";\n\ntest("ten percent off", () => {\n  assert.equal(discount(200, 10), 180);\n});\n```',
      ),
    ],
  },
  {
    message: "/code3 run the tests",
    answers: [proposal("Run the tests", "```bash\nnode --test 2>&1 | tail -n 30\n```")],
  },
  {
    // The first proposal does not match the file; it goes back once.
    message: "/code3 discount in src/discount.mjs is wrong for other percentages",
    answers: [
      proposal(
        "Fix discount",
        replace("src/discount.mjs", "return sum - percent;", "return sum * (1 - percent / 100);"),
      ),
      proposal(
        "Fix discount",
        `${replace("src/discount.mjs", "  return sum - sum / percent;", "  return sum - (sum * percent) / 100;")}\n\`\`\`bash\nsed -i 's/ten percent off/25 percent off/; s/discount(200, 10), 180/discount(200, 25), 150/' test/discount.test.mjs\n\`\`\``,
      ),
    ],
  },
  {
    message: "/ops move the sources to lib",
    answers: [
      {
        calls: [
          {
            name: "execute_command",
            arguments: { command: "mv src lib && sed -i 's#../src/#../lib/#' test/*.mjs" },
          },
        ],
      },
      {
        calls: [{ name: "write_file", arguments: { path: "NOTES.md", content: "Sources live in lib/.\n" } }],
      },
      worked("Moved."),
    ],
  },
  {
    message: "/code3 lib/cart.mjs should refuse negative prices",
    answers: [
      proposal(
        "Refuse negative prices",
        '```diff\n--- a/lib/cart.mjs\n+++ b/lib/cart.mjs\n@@ -1,5 +1,8 @@\n export function total(items) {\n   let sum = 0;\n-  for (const item of items) sum += item.price * (item.quantity ?? 1);\n+  for (const item of items) {\n+    if (item.price < 0) throw new RangeError("negative price");\n+    sum += item.price * (item.quantity ?? 1);\n+  }\n   return sum;\n }\n```',
      ),
    ],
  },
  {
    message: "/code3 test that, and commit everything",
    answers: [
      proposal(
        "Test and commit",
        `\`\`\`bash\ncat >> test/cart.test.mjs <<'EOF'\n\ntest("a negative price is refused", () => {\n  assert.throws(() => total([{ price: -1 }]), RangeError);\n});\nEOF\ngit add -A\n\`\`\`\n\`\`\`git\ncommit -m "Carts and discounts"\n\`\`\``,
      ),
    ],
  },
  {
    message: "/code2 NOTES.md is not needed; a link latest → lib is",
    answers: [
      proposal(
        "Tidy",
        "*** Begin Patch\n*** Delete File: NOTES.md\n*** End Patch\n\n```bash\nln -s lib latest; chmod 600 lib/discount.mjs\n```",
      ),
    ],
  },
  {
    message: "/code3 run the tests once more",
    answers: [proposal("Run the tests", "```bash\nnode --test 2>&1 | tail -n 30\n```")],
  },
];

const withNode = requirePart("node") && requirePart("git") ? test : test.skip;

withNode(
  "ten turns end in passing tests, and /undo leads back turn by turn, to the byte",
  async () => {
    const said = TURNS.flatMap(({ answers }) => answers);
    let next = 0;
    at = await openConversation(() => said[next++] as string);
    at.write("src/cart.mjs", CART);
    at.write("test/cart.test.mjs", TEST);
    at.write("package.json", '{ "type": "module" }\n');
    git("init", "-q");
    git("add", "-A");
    git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "sample");
    at.write("src/unsaved.mjs", "// the user's own, not committed\n");
    expect(tests()).not.toBe(0);

    const before: Record<string, string>[] = [];
    for (const { message } of TURNS) {
      before.push(everything(at.workspace));
      const reply = await at.send(message);
      expect(`${message}: ${reply.ok}\n${reply.ok ? "" : reply.text}`).toBe(`${message}: true\n`);
    }
    expect(next).toBe(said.length);
    expect(tests()).toBe(0);
    expect(readlinkSync(join(at.workspace, "latest"))).toBe("lib");

    // The two turns that only ran the tests changed nothing, so eight are taken back.
    const changing = TURNS.map(({ message }, turn) => ({ message, turn })).filter(
      ({ message }) => !message.includes("run the tests"),
    );
    for (const { turn } of changing.toReversed()) {
      const reply = await at.send("/undo");
      expect(reply.ok).toBe(true);
      expect(everything(at.workspace)).toEqual(before[turn]!);
    }
    expect((await at.send("/undo")).ok).toBe(false);
    expect(everything(at.workspace)).toEqual(before[0]!);
    // Brought in again up to the folder that was moved: `/redo` of a whole folder wants it untouched since.
    for (const { turn } of changing.slice(0, 4)) {
      expect((await at.send("/redo")).text).toStartWith("Applied\n");
      expect(everything(at.workspace)).toEqual(before[turn + 1]!);
    }
  },
  300_000,
);

function git(...args: string[]): void {
  expect(spawnSync("git", args, { cwd: at.workspace, stdio: "ignore" }).status).toBe(0);
}

function tests(): number | null {
  return spawnSync("node", ["--test"], { cwd: at.workspace, stdio: "ignore" }).status;
}

/** Every path with its kind, mode and bytes; of git's folder what it means: HEAD, branches and the index. */
function everything(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    if (/^\.git\/(?!HEAD$|refs\/|index$)/.test(name)) continue;
    if (entry.isSymbolicLink()) found[name] = `link ${readlinkSync(path)}`;
    else if (entry.isFile())
      found[name] = `${statSync(path).mode & 0o7777} ${readFileSync(path).toString("latin1")}`;
    else if (!name.startsWith(".git")) found[name] = "folder";
  }
  return found;
}
