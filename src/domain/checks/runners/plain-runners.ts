import { type CheckRunner, type FoundCommand, hasName, type ProjectFiles } from "./check-runner.ts";
import { withReports } from "./junit.ts";

/** Runners of which the command is all that is known. */
export const plainRunners: readonly CheckRunner[] = [
  {
    name: "rspec",
    findTest: (files) =>
      hasName(files, "Gemfile") && hasName(files, "spec") ? { command: "bundle exec rspec" } : null,
    findInstall: (files) => (hasName(files, "Gemfile") ? "bundle install" : null),
    programs: ["bundle"],
    testPaths: [/_spec\.rb$/],
    decidedBy: [/(?:^|\/)\.rspec$/],
  },
  {
    name: "rake",
    programs: ["rake"],
    findTest: (files) =>
      hasName(files, "Rakefile") && hasName(files, "test")
        ? { command: hasName(files, "Gemfile") ? "bundle exec rake test" : "rake test" }
        : null,
    decidedBy: [/(?:^|\/)Rakefile$/],
  },
  {
    name: "gradle",
    programs: ["gradle"],
    findTest: (files) =>
      hasName(files, "build.gradle") || hasName(files, "build.gradle.kts")
        ? toGradleTest(hasName(files, "gradlew") ? "./gradlew test" : "gradle test")
        : null,
    calls: [/^(?:\.\/)?gradlew?(?: -\S+)* (?:test|check|verify)(?: |$)/],
    decidedBy: [/(?:^|\/)gradlew$/],
    retry: (line) => (/\bgradlew? /.test(line) ? line.replace(/\bgradlew? /, "$&--offline ") : null),
  },
  {
    name: "phpunit",
    findInstall: (files) => (hasName(files, "composer.json") ? "composer install" : null),
    findTest: (files) =>
      hasName(files, "composer.json") && (hasName(files, "phpunit.xml") || hasName(files, "phpunit.xml.dist"))
        ? { command: "vendor/bin/phpunit", ...(hasName(files, "vendor") ? {} : { missing: "vendor" }) }
        : null,
    decidedBy: [/(?:^|\/)phpunit\.xml(?:\.dist)?$/],
  },
  {
    name: "deno",
    programs: ["deno"],
    findTest: (files) =>
      hasName(files, "deno.json") || hasName(files, "deno.jsonc") ? { command: "deno test -A" } : null,
    calls: [/^deno test(?: |$)/],
    decidedBy: [/(?:^|\/)deno\.jsonc?$/],
  },
  {
    name: "ctest",
    programs: ["cmake"],
    reads: ["CMakeLists.txt"],
    // A Makefile's target may be a demonstration: the tests that CMake names go before it.
    findTest(files) {
      if (!hasName(files, "CMakeLists.txt")) return null;
      const command = findMakeTarget(files);
      if (command === null) return { command: "ctest", line: CTEST };
      if (!/^[^#\n]*\b(?:enable_testing *\(|include *\( *CTest)/im.test(files.texts["CMakeLists.txt"] ?? ""))
        return null;
      return { command: "ctest", line: CTEST, instead: [{ command, line: command }] };
    },
    decidedBy: [/(?:^|\/)CMakeLists\.txt$/],
  },
  {
    name: "make",
    programs: ["make"],
    reads: ["Makefile"],
    findTest(files) {
      const command = findMakeTarget(files);
      if (command === null) return null;
      const [, recipe = ""] = (files.texts.Makefile ?? "").split(
        new RegExp(`^${command.slice(5)}\\s*:`, "m"),
      );
      return { command, script: recipe.split(/\n(?=\S)/, 1)[0] ?? "" };
    },
    findLint: (files) => (hasTarget(files, "lint") ? { command: "make lint" } : null),
    calls: [/^make (?:test|check|lint)(?: |$)/],
    decidedBy: [/(?:^|\/)(?:GNUm|M|m)akefile$/],
  },
  {
    name: "meson",
    programs: ["meson"],
    findTest: (files) => (hasName(files, "meson.build") ? { command: "meson test", line: MESON } : null),
    decidedBy: [/(?:^|\/)meson(?:\.build|_options\.txt|\.options)$/],
  },
  { name: "make target", findTest: findTestTarget },
];

/** Built outside the sources, in a view that is thrown away. What cannot be configured here says nothing of the code. */
const inNewFolder = (configure: string, test: string, report: string) =>
  withReports(
    `b="$(mktemp -d)"; ${configure} "$b" >/dev/null || exit $(( $? == 127 ? 127 : 126 )); ${test}`,
    `"\${b:-/dev/null}" -name ${report}`,
  );
const CTEST = inNewFolder(
  "cmake -S . -B",
  'cmake --build "$b" --parallel "$(nproc 2>/dev/null || echo 2)" >/dev/null && ctest --test-dir "$b" -V --output-junit "$b/junit.xml"',
  "junit.xml",
);
const MESON = inNewFolder("meson setup", 'meson test -C "$b" --print-errorlogs', "testlog.junit.xml");

/** A target that is called a test of something, and the program of that name, where it makes one. */
function findTestTarget({ texts }: ProjectFiles): FoundCommand | null {
  const [, target] = /^([\w-]*test[\w-]*)\s*:(?!=)/m.exec(texts.Makefile ?? "") ?? [];
  if (target === undefined) return null;
  return {
    command: `make ${target}`,
    line: `make ${target} && { [ ! -f ./${target} ] || [ ! -x ./${target} ] || ./${target}; }`,
  };
}

/** The command of a target that is called a test by convention. */
function findMakeTarget(files: ProjectFiles): string | null {
  const target = ["test", "check"].find((name) => hasTarget(files, name));
  return target === undefined ? null : `make ${target}`;
}

function hasTarget({ texts }: ProjectFiles, name: string): boolean {
  return new RegExp(`^${name}\\s*:(?!=)`, "m").test(texts.Makefile ?? "");
}

function toGradleTest(command: string): FoundCommand {
  return {
    command,
    line: withReports(`${command} --continue`, '. -path "*/build/test-results/*/TEST-*.xml"'),
  };
}
