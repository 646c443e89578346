import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type ItemRef,
  itemUrl,
  newPullUrl,
  parseItemUrl,
  parseRemoteUrl,
  splitRemoteUrl,
} from "../../../src/domain/forges/forge-items.ts";

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

  test("a written address can be read again", () => {
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

describe("the address of a remote", () => {
  test("names a repository, by HTTPS and by SSH, on known sites only", () => {
    const known = { github: ["https://git.example.org"], gitlab: ["https://lab.example.org:8443/forge"] };
    const read = (url: string) => {
      const ref = parseRemoteUrl(url, known);
      return ref && `${ref.forge} ${ref.site} ${ref.repository}`;
    };
    for (const url of [
      "https://github.com/acme/calc.git",
      "git@github.com:acme/calc.git",
      "ssh://git@github.com:22/acme/calc",
      "https://user:secret@github.com/acme/calc/",
    ])
      expect([url, read(url)]).toEqual([url, "github https://github.com acme/calc"]);
    expect(read("git@git.example.org:acme/calc.git")).toBe("github https://git.example.org acme/calc");
    expect(read("git@gitlab.com:group/sub/name.git")).toBe("gitlab https://gitlab.com group/sub/name");
    expect(read("https://lab.example.org:8443/forge/group/name.git")).toBe(
      "gitlab https://lab.example.org:8443/forge group/name",
    );
    for (const url of [
      "/srv/calc.git",
      "file:///srv/calc.git",
      "https://evil.org/acme/calc",
      "https://github.com/acme",
      "git@github.com.evil.org:acme/calc",
      "C:\\calc",
      "ext::sh -c true",
    ])
      expect([url, read(url)]).toEqual([url, null]);
  });

  test("is distinguished from the password in it", () => {
    expect(splitRemoteUrl("https://me:se%40cret@github.com/acme/calc")).toEqual({
      url: "https://github.com/acme/calc",
      credentials: { username: "me", token: "se@cret" },
    });
    for (const url of [
      "git@github.com:acme/calc.git",
      "https://github.com/acme/calc",
      "ssh://git@h/acme/calc",
    ])
      expect(splitRemoteUrl(url)).toEqual({ url, credentials: null });
  });

  test("leads to where a person opens a pull of a branch by hand", () => {
    const ref = { forge: "github", site: "https://github.com", repository: "acme/calc" } as const;
    expect(newPullUrl(ref, "picoclaw/fix")).toBe("https://github.com/acme/calc/pull/new/picoclaw/fix");
    expect(newPullUrl({ ...ref, forge: "gitlab", site: "https://gitlab.com" }, "a/b")).toBe(
      "https://gitlab.com/acme/calc/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%2Fb",
    );
  });
});
