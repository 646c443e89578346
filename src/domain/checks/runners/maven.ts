import { type CheckRunner, hasName } from "./check-runner.ts";
import { withReports } from "./junit.ts";

/** One call to which properties can be added, alone or with its reports. */
const CALL = /(?<=^|; )(?:\.\/)?mvnw?(?: -[^\s&|;<>()`$]+)* test(?=$|; s=)/;
/** The names that Surefire runs by default, in a project of one module. */
const TEST_CLASS =
  /^src\/test\/(?:.+\/)?((?!Abstract)(?:Test\w*|\w+(?:Tests?|TestCase)))\.(?:java|kt|groovy)$/;

/** Some versions run nested tests only by their own names, which would also run nested classes that a whole run leaves out. */
const RUNS_NESTED = /@Nested\b|\bEnclosed\b/;

/** The classes of these files. A module that has none of the classes would fail. */
function narrowMaven(
  line: string,
  files: readonly string[],
  texts: ReadonlyMap<string, string>,
): string | null {
  const classes = new Set(files.map((path) => TEST_CLASS.exec(path)?.[1]));
  if (!CALL.test(line) || classes.has(undefined)) return null;
  if (files.some((path) => RUNS_NESTED.test(texts.get(path) ?? "@Nested"))) return null;
  return line.replace(CALL, (call) => `${call} -Dtest=${[...classes].join(",")}`);
}

const FAILED_GOAL = /goal [\w.-]+:(?:maven-)?([\w-]+?)(?:-maven)?(?:-plugin)?:[\w.-]+:(\w+)/;

/** Offline, and without the plug-in whose goal failed: a property that no plug-in reads changes nothing. */
function retryMaven(line: string, cause: string): string | null {
  const [, name, goal] = FAILED_GOAL.exec(cause) ?? [];
  const dotted = name?.replaceAll("-", ".");
  const skips = dotted === undefined ? [] : [dotted, `${dotted}.${goal}`];
  const options = ["-o", ...skips.map((one) => `-D${one}.skip=true`)].join(" ");
  return CALL.test(line) ? line.replace(CALL, (call) => call.replace(/mvnw?/, `$& ${options}`)) : null;
}

/** Checks have no network: offline, it does not wait for it. */
function cheapenMaven(line: string): string | null {
  if (/ (?:-o|--offline)(?= |$)/.test(line)) return null;
  return line.replace(CALL, (call) => call.replace(/mvnw?/, "$& -o"));
}

export const maven: CheckRunner = {
  name: "maven",
  findTest(files) {
    const program = hasName(files, "mvnw") ? "./mvnw" : "mvn";
    const line = `${program} -B -fae -Dsurefire.reportFormat=plain test`;
    const reported = withReports(line, '. -path "*/target/surefire-reports/TEST-*.xml"');
    return hasName(files, "pom.xml") ? { command: `${program} test`, line: reported } : null;
  },
  programs: ["mvn"],
  calls: [/^(?:\.\/)?mvnw?(?: -\S+)* (?:test|check|verify)(?: |$)/],
  decidedBy: [/(?:^|\/)(?:mvnw|\.mvn\/.+)$/],
  narrow: narrowMaven,
  cheapen: cheapenMaven,
  retry: retryMaven,
};
