import { describe, expect, test } from "bun:test";
import { pinnedPackages } from "../../../src/domain/containers/dependency-plan.ts";

const options = { npmRegistry: "https://registry.example/" };
const npm = (text: string) => pinnedPackages("npm", text, options);
const pip = (text: string) => pinnedPackages("pip", text, options);

describe("what may be fetched for a cache", () => {
  test("is nothing where npm does not say where its packages come from", () => {
    const lock = JSON.stringify({ packages: { "node_modules/a": { version: "1.2.3" } } });
    expect(npm(lock)).toEqual(["a@1.2.3"]);
    expect(pinnedPackages("npm", lock, { npmRegistry: null })).toEqual([]);
  });

  test("of a lock file of npm only names and versions of index packages", () => {
    const lock = {
      lockfileVersion: 3,
      packages: {
        "": { name: "x", version: "1.0.0" },
        "node_modules/a": { version: "1.2.3", resolved: "https://registry.example/a/-/a-1.2.3.tgz" },
        "node_modules/@s/b": { version: "2.0.0-rc.1" },
        "node_modules/a/node_modules/c": { version: "3.0.0" },
        "node_modules/alias": { name: "real", version: "4.0.0" },
        "node_modules/internal": {
          version: "1.0.0",
          resolved: "https://npm.corp/internal/-/internal-1.0.0.tgz",
        },
        "node_modules/linked": { link: true, resolved: "packages/linked" },
        "node_modules/bundled": { version: "1.0.0", inBundle: true },
        "node_modules/from-git": { version: "1.0.0", resolved: "git+ssh://git@host/r.git#abc" },
        "node_modules/evil; rm -rf": { version: "1.0.0" },
        "node_modules/--registry=http://evil": { version: "1.0.0" },
        "node_modules/--force": { version: "1.0.0" },
        "node_modules/range": { version: "^1.0.0" },
        "packages/own": { version: "1.0.0" },
      },
    };
    expect(npm(JSON.stringify(lock))).toEqual(["@s/b@2.0.0-rc.1", "a@1.2.3", "c@3.0.0", "real@4.0.0"]);
    for (const bad of ["", "{", "[]", "null", '{"packages":[]}', '{"packages":{"node_modules/a":7}}'])
      expect(npm(bad)).toEqual([]);
  });

  test("of a requirements file only exact versions, never an option or an address", () => {
    const text = [
      "--trusted-host evil.example",
      "-r other.txt",
      "Flask==2.3.2",
      "requests[security] == 2.31.0 ; python_version > '3'",
      "hashed==1.0 --hash=sha256:abc",
      "continued==2.0 \\",
      "ranged>=1.0",
      "bare",
      "evil @ http://evil.example/evil.whl",
      "a==1.0 && rm",
      "flask==2.3.2",
      "-e .",
    ].join("\n");
    expect(pip(text)).toEqual(["continued==2.0", "flask==2.3.2", "hashed==1.0", "requests==2.31.0"]);
    for (const option of [
      "--index-url https://pypi.corp",
      "--extra-index-url https://x",
      "-i https://x",
      "-f ./w",
    ])
      expect(pip(`${option}\ninternal==1.0\n`)).toEqual([]);
    expect(pip("--no-index\n--find-links ./wheels\na==1.0\n")).toEqual([]);
  });
});
