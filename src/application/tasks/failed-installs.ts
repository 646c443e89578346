import {
  npmPackages,
  requirementLines,
  requirementName,
  scriptPrograms,
} from "../../domain/containers/named-packages.ts";
import { refusedText } from "../../domain/containers/refused-hosts.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { FailedInstall, TaskEnvironment } from "../ports/task-environments.ts";
import type { SolveDeps } from "./solve-work.ts";

const INSTALL_CHARS = 4000;
const MOST_NAMED = 30;
const MOST_ASKED = 100;
/** Where a project says that its tests want pytest. */
const PYTEST_FILES = "pyproject.toml setup.cfg tox.ini pytest.ini conftest.py tests/conftest.py";

/** Where dependencies are missing, a coder has to know why, and which; where no installation failed, nothing is said. */
export async function failedInstallWords(
  environment: Pick<TaskEnvironment, "failedInstalls" | "run">,
  mask: SolveDeps["mask"],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { failedInstalls } = environment;
  if (failedInstalls.length === 0) return [];
  return [
    ...failedInstalls.flatMap((failed) => failedInstallText(failed, mask)),
    ...(await missingWords(environment.run, signal)),
    "Mend the installation only where the task is about it; otherwise work without what is missing, and say so.",
  ];
}

function failedInstallText(
  { command, output, refused, leftOut }: FailedInstall,
  mask: SolveDeps["mask"],
): string[] {
  return [
    "## An installation failed",
    `$ ${command}\n${cutMiddle(mask(output), INSTALL_CHARS)}`,
    ...(refused.length === 0 ? [] : [refusedText(refused)]),
    ...(leftOut === null
      ? []
      : [`PicoClaw then installed the rest by itself, without: ${leftOut.join(", ") || "none"}.`]),
  ];
}

/** What is not there in consequence: programs that the checks start, and packages that the project names. */
async function missingWords(run: TaskEnvironment["run"], signal: AbortSignal): Promise<readonly string[]> {
  const read = async (file: string) => (await run(`cat ./${file} 2>/dev/null`, signal)).stdout;
  const absent = async (names: readonly string[], test: string): Promise<readonly string[]> => {
    if (names.length === 0) return [];
    const list = names.map((name) => `'${name}'`).join(" ");
    const { stdout } = await run(`for one in ${list}; do ${test} || echo "$one"; done`, signal);
    return stdout.split("\n").filter((line) => names.includes(line));
  };
  const manifest = await read("package.json");
  const required = requirementLines(await read("requirements*.txt")).map(requirementName);
  const { exitCode: wantsPytest } = await run(`grep -qs pytest ${PYTEST_FILES}`, signal);
  const asked = [...new Set([...required, ...(wantsPytest === 0 ? ["pytest"] : [])])].slice(0, MOST_ASKED);
  const programs = await absent(
    scriptPrograms(manifest),
    '[ -x "node_modules/.bin/$one" ] || command -v "$one" >/dev/null 2>&1',
  );
  const packages = await absent([...npmPackages(manifest).keys()], '[ -d "node_modules/$one" ]');
  const modules = await absent(
    asked,
    '"$(command -v python || command -v python3)" -c "import importlib.metadata as m, sys; m.distribution(sys.argv[1])" "$one" >/dev/null 2>&1',
  );
  const lines = [
    ["Programs that scripts of package.json start, and that do not exist", programs],
    ["Packages of package.json that are not installed", packages],
    ["Python packages that the project needs and that are not installed", modules],
  ] as const;
  return lines.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what}: ${listNames(names)}.`]));
}

function listNames(names: readonly string[]): string {
  const left = names.length - MOST_NAMED;
  return [
    ...names.slice(0, MOST_NAMED).map((name) => `\`${name}\``),
    ...(left > 0 ? [`… and ${left} more`] : []),
  ].join(", ");
}
