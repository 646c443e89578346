/**
 * Causes outside the sources for which a check ends before its first test: a download, a plug-in, a missing package or tool, a port.
 * In: the output of a red check that names no test; then the results over the old code and over the draft. Out: the cause, and which
 * checks cannot run. Invariant: an error that names a place in a source, or a file that the change touches, stays red.
 */
import { type Declaration, resolveDeclarations } from "./declarations.ts";
import { blankVariables, findPlaces, namesMissingService, namesPath, showsTests } from "./failures.ts";
import { decidesChecks, isCodePath, isDocumentation, isTestPath } from "./path-kinds.ts";
import type { OutsideCause } from "./test-results.ts";
import type { CheckResult } from "./verdict.ts";

/** The messages of tools where something is missing that no source can bring. */
const OUTSIDE = new RegExp(
  [
    "could not (?:resolve (?:all |dependenc|host|plugin)|transfer|find artifact|GET|HEAD|download|determine java)",
    "(?:dependencies|artifacts?) could not be resolved|in offline mode|no cached version",
    "failed to execute goal (?!\\S*(?:compiler|surefire|failsafe|kotlin|scala|groovy|gmavenplus|antrun|exec))",
    "plugin \\S.* (?:was )?not found|failed to (?:download|fetch|connect)|unable to (?:update registry|connect|access)",
    "no matching (?:package|distribution)|could not find (?:a version|gem|chrome)|no required module provides",
    "cannot find (?:module|package) ['\"]|no module named ['\"]?\\w|dial tcp",
    "command not found|: not found$|executable (?:file not found|doesn't exist)|\\bspawn \\S+ ENOENT|is not installed",
    "\\bEADDRINUSE\\b|address already in use|\\bENOSPC\\b|no space left on device|cannot connect to the docker daemon",
    "\\bJAVA_HOME\\b|unsupported class file major version|toolchain .*not (?:installed|found)|\\bEBADENGINE\\b",
    "licen[cs]e (?:key|server|has expired|expired|not found|is missing)",
  ].join("|"),
  "i",
);
const MISSING_PACKAGE = /cannot find (?:module|package) ['"](?![./])|no module named/i;
/** The path of a project's own file, quoted or called: the project should bring it. */
const OWN_FILE = /(?:^|[\s'"`(])\.{1,2}\//;
/** The echo of a command. */
const ECHO = /^\s*(?:[$+] |> [a-z./@])/;
/** Progress and warnings. */
const NO_ERROR = /^\s*(?:\[?(?:info|warn(?:ing)?|debug|notice)\b|npm (?:warn|notice)\b)/i;
const FRAME = /^\s*(?:at |- \/|File "|from )/;
const PLACE = /([\w@./\\+-]+\.\w{1,6})(?::\d|:\[\d|\(\d|:\(|", line \d|: line \d| on line \d)/g;
const OF_TOOL =
  /(?:^|\/)(?:node_modules|(?:site|dist)-packages|\.?venv|\.m2|\.cargo|\.gradle|pkg\/mod)\/|^\/(?:usr|opt|lib|nix)\/|^node:/;

/** Null where the output shows a test, a place in a source, or no cause that is known to be outside. */
export function findOutsideCause(output: string): OutsideCause | null {
  const isError = (line: string) => line.length <= LONGEST && !ECHO.test(line) && !NO_ERROR.test(line);
  const last = output.split("\n").filter(isError).slice(-MOST_LINES);
  const said = last.filter(
    (line) => (OUTSIDE.test(line) || namesMissingService(line)) && !OWN_FILE.test(line),
  );
  const [cause] = said;
  if (cause === undefined || showsTests(last.join("\n"))) return null;
  // The way to a missing package leads through the file that asks for it.
  const errors = MISSING_PACKAGE.test(said.join("\n")) ? last.filter((line) => !FRAME.test(line)) : last;
  const isSource = (place: string) => isCodePath(place) && !OF_TOOL.test(place.replaceAll("\\", "/"));
  const ofJava = /^\s*at [\w.$/]+\(\w+\.\w+:\d+\)$/;
  const named = errors.filter((line) => !ofJava.test(line)).join("\n");
  if ([...named.matchAll(PLACE)].some(([, place = ""]) => isSource(place))) return null;
  return {
    cause: cause
      .trim()
      .replace(/^\[ERROR\] /, "")
      .slice(0, MOST_CAUSE),
    lines: [...new Set(said.map(blankVariables))].sort(),
    places: findPlaces(last),
  };
}

const LONGEST = 2000;
const MOST_LINES = 400;
const MOST_CAUSE = 240;

/** A check that ended before any test, for one cause outside the sources, with the change and without it. */
export interface UnableCheck {
  readonly command: string;
  readonly cause: string;
}

/**
 * The checks that cannot run here, over the old code and over the draft alike. Where the change touches a file of the build, or a file
 * that the error names, or where the coder declares that it fixes the check, the failure may be the change's own and stays red.
 */
export function findUnableChecks(
  before: readonly CheckResult[],
  results: readonly CheckResult[],
  change: { readonly paths: readonly string[]; readonly declarations: readonly Declaration[] },
): readonly UnableCheck[] {
  if (change.paths.some(mayBeOfBuild)) return [];
  return results.flatMap(({ command, failure: now }) => {
    const old = before.find((one) => one.command === command)?.failure?.outside;
    const [outside, targets] = [now?.outside, new Map([[command, [command]]])];
    if (old === undefined || outside === undefined || old.lines.join() !== outside.lines.join()) return [];
    const places = [...old.places, ...outside.places];
    const isOwn = resolveDeclarations(change.declarations, targets).get(command)?.kind === "fixes";
    return isOwn || change.paths.some((path) => namesPath(places, path))
      ? []
      : [{ command, cause: outside.cause }];
  });
}

export function withUnable(result: CheckResult, unable: readonly UnableCheck[]): CheckResult {
  return unable.some(({ command }) => command === result.command)
    ? { ...result, state: "cannot-run" }
    : result;
}

/** Every file that is neither code, nor a test, nor a document may be one that the build reads. */
function mayBeOfBuild(path: string): boolean {
  return decidesChecks(path) || !(isCodePath(path) || isTestPath(path) || isDocumentation(path));
}
