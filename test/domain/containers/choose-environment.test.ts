import { describe, expect, test } from "bun:test";
import { chooseEnvironment, detectLanguage, LANGUAGES } from "../../../src/domain/containers/environments.ts";

const OURS = { available: ["python", "miniforge", "node"], fallback: "python" };

describe("detecting a project's language", () => {
  const cases: readonly [files: readonly string[], language: string | undefined, because?: string][] = [
    [["package.json", "src/a.ts"], "Node.js", "package.json"],
    [["package.json", "package-lock.json"], "Node.js", "package-lock.json"],
    [["requirements.txt", "app.py"], "Python", "requirements.txt"],
    [["pyproject.toml"], "Python", "pyproject.toml"],
    [["requirements-prod.txt"], "Python", "requirements-prod.txt"],
    [["setup.py", "README.md"], "Python", "setup.py"],
    [["environment.yml", "requirements.txt", "package.json"], "conda", "environment.yml"],
    [["condaenv.yaml", "a.py"], "conda", "condaenv.yaml"],
    [["Gemfile", "Gemfile.lock"], "Ruby", "Gemfile.lock"],
    [["thing.gemspec"], "Ruby", "thing.gemspec"],
    [["go.mod", "main.go"], "Go", "go.mod"],
    [["Cargo.toml", "src/main.rs"], "Rust", "Cargo.toml"],
    [["composer.json", "index.php"], "PHP", "composer.json"],
    [["pom.xml"], "Java", "pom.xml"],
    [["App.sln", "App/App.csproj"], ".NET", "App.sln"],
    [["package.json", "bun.lock", "a.ts"], "Bun", "bun.lock"],
    [["deno.json", "package.json", "a.ts"], "Deno", "deno.json"],
    // Two kinds of files in the root: the sources decide.
    [["package.json", "requirements.txt", "a.py", "b.py", "web/c.js"], "Python"],
    [["package.json", "requirements.txt", "a.py", "web/b.ts", "web/c.js"], "Node.js"],
    [["package.json", "pyproject.toml"], "Python"],
    [["package.json", "pyproject.toml", "node_modules/x/a.js", "node_modules/x/b.js", "z.py"], "Python"],
    // Nothing in the root: one level down, then the sources alone.
    [["backend/requirements.txt", "backend/app.py", "README.md"], "Python", "backend/requirements.txt"],
    [["docs/requirements.txt", "lib/a.rb"], "Ruby", "lib/a.rb"],
    [["src/deep/main.go", "src/deep/b.go", "x.py"], "Go", "src/deep/main.go"],
    [["README.md", "LICENSE"], undefined],
    [[], undefined],
    // A name that only resembles a marker is none.
    [["package.json.bak", "mygo.mod", "xrequirements.txt"], undefined],
  ];
  for (const [files, language, because] of cases)
    test(`${files.join(" ") || "an empty project"} is ${language ?? "unknown"}`, () => {
      const found = detectLanguage(files);
      expect(found?.language.name).toBe(language as string);
      if (because !== undefined) expect(found?.because).toBe(because);
    });
});

describe("choosing an environment", () => {
  test("a name that is known wins over everything", () => {
    expect(chooseEnvironment({ ...OURS, asked: "node", files: ["requirements.txt"] })).toEqual({
      name: "node",
      source: "asked",
    });
  });

  test("an unknown name falls back to the default and says so", () => {
    expect(chooseEnvironment({ ...OURS, asked: "cobol", files: ["package.json"] })).toEqual({
      name: "python",
      source: "default",
      notice: { code: "unknown-environment", asked: "cobol", used: "python" },
    });
  });

  test("without a name the files decide", () => {
    expect(chooseEnvironment({ ...OURS, files: ["package.json"] })).toEqual({
      name: "node",
      source: "detected",
      because: "package.json",
    });
    expect(chooseEnvironment({ ...OURS, asked: "", files: ["environment.yml"] }).name).toBe("miniforge");
  });

  test("without name or files, or with files that say nothing, it is the default", () => {
    expect(chooseEnvironment(OURS)).toEqual({ name: "python", source: "default" });
    expect(chooseEnvironment({ ...OURS, files: ["README"] })).toEqual({ name: "python", source: "default" });
  });

  test("a language without an image gets the nearest one and a notice", () => {
    expect(chooseEnvironment({ ...OURS, files: ["Gemfile"] })).toEqual({
      name: "python",
      source: "detected",
      because: "Gemfile",
      notice: { code: "nearest", language: "Ruby", wanted: "ruby", used: "python" },
    });
    expect(chooseEnvironment({ ...OURS, files: ["renv.lock"] }).name).toBe("miniforge");
    expect(chooseEnvironment({ ...OURS, files: ["deno.json"] }).name).toBe("node");
  });

  test("an environment that the configuration adds serves its language", () => {
    const available = [...OURS.available, "ruby"];
    expect(chooseEnvironment({ ...OURS, available, files: ["Gemfile"] })).toEqual({
      name: "ruby",
      source: "detected",
      because: "Gemfile",
    });
  });

  test("where even the nearest is not configured, the default serves", () => {
    expect(chooseEnvironment({ available: ["mine"], fallback: "mine", files: ["package.json"] })).toEqual({
      name: "mine",
      source: "detected",
      because: "package.json",
      notice: { code: "nearest", language: "Node.js", wanted: "node", used: "mine" },
    });
  });

  test("every language names an environment of ours as its nearest", () => {
    for (const { nearest } of LANGUAGES) expect(OURS.available).toContain(nearest);
  });
});
