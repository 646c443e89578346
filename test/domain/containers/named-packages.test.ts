import { describe, expect, test } from "bun:test";
import {
  requirementLines,
  requirementName,
  scriptPrograms,
  unfetchedPackages,
} from "../../../src/domain/containers/dependency-plan.ts";

describe("what a project's files ask for by name", () => {
  test.each([
    ["tape test.js", ["tape"]],
    ["NODE_ENV=test nyc --all tape 'test/**'; eslint .", ["nyc", "eslint"]],
    ["npx jest && ./run.sh | tee log", ["jest", "tee"]],
  ])("the programs of `%s`", (line, programs) => {
    expect(scriptPrograms(JSON.stringify({ scripts: { test: line, start: "serve" } }))).toEqual(programs);
  });

  test("an unreadable manifest asks for nothing", () => {
    for (const text of ["", "[", "null", "7"]) expect(scriptPrograms(text)).toEqual([]);
  });

  test("lines of requirements that name a package", () => {
    const text =
      "six==1.16.0\n# no\n-r other.txt\n--index-url x\nflask[async] >= 2 ; python_version > '3' # why\n";
    expect(requirementLines(text).map(requirementName)).toEqual(["six", "flask"]);
  });

  const manifest = JSON.stringify({
    dependencies: {
      alone: "git+ssh://git@github.com/nobody/alone.git#v1",
      short: "nobody/short",
      "@a/b": "^1.0.0",
    },
    devDependencies: { tape: "^5.0.0", tap: "^1.0.0" },
  });
  test.each([
    ["npm error command git ls-remote ssh://git@github.com/nobody/alone.git", ["alone"]],
    ["npm error command git ls-remote https://github.com/nobody/short.git", ["short"]],
    ["npm error 404 Not Found - GET https://registry.example.org/@a%2fb - Not found", ["@a/b"]],
    ["npm error 403 403 Forbidden - GET https://registry.example.org/tape", ["tape"]],
    ["npm error 404 GET https://registry.example.org/tap/-/tap-1.0.0.tgz", ["tap"]],
    ["npm error notarget No matching version found for tape@^5.0.0.", ["tape"]],
    ["npm error 404 Not Found - GET https://registry.example.org/a-dependency-of-tape", []],
    ["npm error code ERESOLVE", []],
  ])("whom npm blames in `%s`", (output, names) => {
    expect(unfetchedPackages(output, manifest)).toEqual(names);
  });
});
