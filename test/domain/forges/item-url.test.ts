import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ItemRef, itemUrl, parseItemUrl } from "../../../src/domain/forges/forge-items.ts";

const sites = {
  github: ["https://git.corp.example"],
  gitlab: ["https://lab.example/gitlab", "http://127.0.0.1:8080"],
};

/** As each forge writes it: `owner/name#7`, and for a merge request `owner/name!7`. */
const nameOf = ({ forge, repository, kind, number }: ItemRef) =>
  `${repository}${forge === "gitlab" && kind === "pull" ? "!" : "#"}${number}`;

describe("the address of an issue, PR or MR", () => {
  const read: readonly [url: string, name: string | null][] = [
    ["https://github.com/acme/tools/issues/7", "acme/tools#7"],
    ["https://github.com/acme/tools/pull/8", "acme/tools#8"],
    ["https://github.com/acme/tools/pull/8/", "acme/tools#8"],
    ["https://github.com/acme/tools/issues/7#issuecomment-1", "acme/tools#7"],
    ["https://github.com/acme/tools/issues/7?x=1", "acme/tools#7"],
    ["https://gitlab.com/a/b/c/-/issues/3", "a/b/c#3"],
    ["https://gitlab.com/a/b/-/merge_requests/4", "a/b!4"],
    ["https://gitlab.com/a/b/-/work_items/5", "a/b#5"],
    ["https://lab.example/gitlab/a/b/-/issues/3", "a/b#3"],
    ["http://127.0.0.1:8080/a/b/-/issues/3", "a/b#3"],
    ["https://git.corp.example/a/b/pull/3", "a/b#3"],
    ["https://evil.example/acme/tools/issues/7", null],
    ["https://github.com.evil.example/acme/tools/issues/7", null],
    ["https://github.com/acme/tools/pull/8/files", null],
    ["https://github.com/acme/tools", null],
    ["https://user:pass@github.com/acme/tools/issues/7", null],
    ["https://lab.example/a/b/-/issues/3", null],
    ["ftp://github.com/acme/tools/issues/7", null],
    ["https://github.com/../x/issues/7", null],
    ["https://gitlab.com/a/%2e%2e/-/issues/3", null],
    ["https://github.com/a%2fb/c/issues/1", null],
    ["not an address", null],
    ["", null],
  ];
  for (const [url, name] of read)
    test(`${url || "(empty)"} is ${name ?? "none"}`, () => {
      const ref = parseItemUrl(url, sites);
      expect(ref === null ? null : nameOf(ref)).toBe(name);
    });

  test("what is written can be read again", () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9_-]{0,10}$/);
    const ref = fc.record({
      forge: fc.constantFrom("github" as const, "gitlab" as const),
      owner: word,
      name: word,
      kind: fc.constantFrom("issue" as const, "pull" as const),
      number: fc.integer({ min: 1, max: 10 ** 9 }),
    });
    fc.assert(
      fc.property(ref, ({ forge, owner, name, kind, number }) => {
        const item: ItemRef = {
          forge,
          site: `https://${forge}.com`,
          repository: `${owner}/${name}`,
          kind,
          number,
        };
        expect(parseItemUrl(itemUrl(item), sites)).toEqual(item);
      }),
    );
  });
});
