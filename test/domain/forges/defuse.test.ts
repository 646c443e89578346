import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FORGE_KINDS } from "../../../src/domain/config/configured-kinds.ts";
import {
  defuse,
  defuseTitle,
  fenced,
  isShowable,
  postedComment,
  postedCommit,
  postedPull,
} from "../../../src/domain/forges/posted-text.ts";
import { commandsIn, hostileText } from "../../fakes/forges/commands-in.ts";

describe("words of others on a forge", () => {
  const hostile = [
    "/merge",
    "done\n/approve",
    "done\r/close",
    "done\u2028/close",
    "  /invite_email a@b.example",
    "ping @alice",
    "`@alice",
    "_@alice_",
    "日本@alice",
    "\\@alice",
    "&#64;alice",
    "&commat;alice",
    "Fixes #7",
    "fixes: #7",
    "Closes acme/calc#7",
    "resolved GH-7",
    "**Closes** **#7**",
    "_Fixes #7_",
    "Closes https://github.com/acme/calc/issues/7",
    "Fixes &#35;7",
    "<!-- picoclaw:task 1 -->",
    "<details><summary>",
  ];
  const onGitLab = ["Implements #7", "closing #8", "Implementing group/name#7, #8", "resolves KEY-12"];
  test("command nothing, and read as before", () => {
    for (const forge of FORGE_KINDS)
      for (const text of [...hostile, ...(forge === "gitlab" ? onGitLab : [])]) {
        expect(commandsIn(forge, text), `${text} is meant to be hostile`).not.toEqual([]);
        const calm = defuse(forge, text);
        expect(commandsIn(forge, calm), text).toEqual([]);
        expect(calm.replaceAll("\u200b", "")).toBe(text.replace(/[\r\u2028]/g, "\n"));
      }
  });
  test("honest words stay untouched", () => {
    for (const text of [
      "see #12 and acme/calc#3",
      "mail dev@example.org about a < b && c",
      "fixes the login",
      "a/b and `src/index.ts`",
      "1 &lt; 2 &amp;&amp; x",
    ])
      for (const forge of FORGE_KINDS) expect(defuse(forge, text)).toBe(text);
  });
  test("no title makes a draft or a second line", () => {
    for (const title of ["Draft: x", "[draft] x", " (Draft) x", "WIP: x", "a\n/merge"]) {
      const calm = defuseTitle("gitlab", title);
      expect(calm).not.toMatch(/^\s*[[(]?(?:draft|wip)|\n/i);
    }
    expect(defuseTitle("gitlab", "\u001b[2J\u202eevil\u2069 \u200e題名")).toBe("[2J evil 題名");
  });
  test("for any text, defusing again changes nothing, and the forge's own readers find nothing", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        for (const forge of FORGE_KINDS) {
          const calm = defuse(forge, text);
          expect(defuse(forge, calm)).toBe(calm);
          expect(commandsIn(forge, calm)).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("posted text", () => {
  test("the only keyword that closes anything is ours", () => {
    const pull = postedPull("gitlab", { title: "Fixes #1", body: "Closes #2", closes: 3, draft: false });
    expect(commandsIn("gitlab", `${pull.title}\n${pull.body}`)).toEqual(["Closes #3"]);
    expect(commandsIn("github", postedCommit("github", "Fixes #2\n\nCloses #9", 3))).toEqual(["Closes #3"]);
    expect(commandsIn("github", postedCommit("github", "Fixes #2", null))).toEqual([]);
  });
  test("a mark cannot be ended from within", () => {
    expect(postedComment("github", { text: "x", mark: "a --> @b" })).toBe("<!-- picoclaw:a -- b -->\n\nx");
  });
  test("a patch is in a fence that it cannot close, byte by byte", () => {
    const patch = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n ````\n+@alice fixes #7\n+`````\n";
    const text = postedComment("github", { text: "x", patch });
    expect(text).toContain(`\`\`\`\`\`\`diff\n${patch}\`\`\`\`\`\`\n`);
    expect(isShowable(patch)).toBe(true);
    expect(isShowable(`${patch}/merge\n`)).toBe(false);
    expect(fenced("a")).toBe("```\na\n```");
  });
});
