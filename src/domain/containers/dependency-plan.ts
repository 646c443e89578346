/** Who downloads; each has a cache of its own. */
export type Ecosystem =
  | "npm"
  | "pnpm"
  | "yarn"
  | "pip"
  | "uv"
  | "poetry"
  | "pipenv"
  | "conda"
  | "bundler"
  | "composer"
  | "go"
  | "cargo";

/** One installation, as a shell command in the project's folder. */
export interface InstallStep {
  readonly ecosystem: Ecosystem;
  /** The file that calls for it. */
  readonly file: string;
  /** The program it needs; where the image has none, `instead` runs, or nothing does. */
  readonly program: string;
  readonly command: string;
  /** What runs when the first way fails: a lock file that is out of step, an environment that exists already. */
  readonly otherwise?: string;
  readonly instead?: { readonly program: string; readonly command: string };
}

const LEGACY_NPM = "npm install --no-audit --no-fund --no-progress";

/** How each kind of project is installed: the first rule of each group whose file is there. */
const GROUPS: readonly (readonly Rule[])[] = [
  [conda("condaenv.yaml"), conda("condaenv.yml"), conda("environment.yml"), conda("environment.yaml")],
  [
    {
      file: "pnpm-lock.yaml",
      step: {
        ecosystem: "pnpm",
        program: "pnpm",
        command: "pnpm install --frozen-lockfile --reporter=append-only",
        otherwise: "pnpm install --reporter=append-only",
        instead: { program: "npm", command: LEGACY_NPM },
      },
    },
    {
      file: "yarn.lock",
      also: ".yarnrc.yml",
      step: {
        ecosystem: "yarn",
        program: "yarn",
        command: "yarn install --immutable",
        otherwise: "yarn install",
        instead: { program: "npm", command: LEGACY_NPM },
      },
    },
    {
      file: "yarn.lock",
      step: {
        ecosystem: "yarn",
        program: "yarn",
        command: "yarn install --frozen-lockfile --non-interactive",
        otherwise: "yarn install --non-interactive",
        instead: { program: "npm", command: LEGACY_NPM },
      },
    },
    ...["package-lock.json", "npm-shrinkwrap.json"].map(
      (file): Rule => ({
        file,
        step: {
          ecosystem: "npm",
          program: "npm",
          command: "npm ci --no-audit --no-fund --no-progress",
          otherwise: LEGACY_NPM,
        },
      }),
    ),
    { file: "package.json", step: { ecosystem: "npm", program: "npm", command: LEGACY_NPM } },
  ],
  [
    {
      file: "uv.lock",
      step: {
        ecosystem: "uv",
        program: "uv",
        command: "uv sync --frozen",
        otherwise: "uv sync",
        instead: { program: "pip", command: "pip install --no-input -e ." },
      },
    },
    {
      file: "poetry.lock",
      step: {
        ecosystem: "poetry",
        program: "poetry",
        command: "poetry install --no-interaction --no-ansi",
        instead: { program: "pip", command: "pip install --no-input -e ." },
      },
    },
    {
      file: "Pipfile.lock",
      step: {
        ecosystem: "pipenv",
        program: "pipenv",
        command: "pipenv sync --dev",
        otherwise: "pipenv install --dev",
      },
    },
    {
      file: "requirements.txt",
      step: { ecosystem: "pip", program: "pip", command: "pip install --no-input -r requirements.txt" },
    },
    {
      file: "pyproject.toml",
      step: { ecosystem: "pip", program: "pip", command: "pip install --no-input -e ." },
    },
    {
      file: "setup.py",
      step: { ecosystem: "pip", program: "pip", command: "pip install --no-input -e ." },
    },
  ],
  [
    {
      file: "Gemfile",
      step: { ecosystem: "bundler", program: "bundle", command: "bundle install --jobs=4 --retry=2" },
    },
  ],
  [
    {
      file: "composer.json",
      step: {
        ecosystem: "composer",
        program: "composer",
        command: "composer install --no-interaction --no-progress",
      },
    },
  ],
  [{ file: "go.mod", step: { ecosystem: "go", program: "go", command: "go mod download" } }],
  [
    {
      file: "Cargo.lock",
      step: {
        ecosystem: "cargo",
        program: "cargo",
        command: "cargo fetch --locked",
        otherwise: "cargo fetch",
      },
    },
    { file: "Cargo.toml", step: { ecosystem: "cargo", program: "cargo", command: "cargo fetch" } },
  ],
];

interface Rule {
  readonly file: string;
  /** A second file without which the rule does not hold. */
  readonly also?: string;
  readonly step: Omit<InstallStep, "file">;
}

/** The environment is created; where it exists already, updated. */
function conda(file: string): Rule {
  return {
    file,
    step: {
      ecosystem: "conda",
      program: "mamba",
      command: `mamba env create --yes --file ${file}`,
      otherwise: `mamba env update --file ${file}`,
      instead: {
        program: "conda",
        command: `conda env create --yes --file ${file} || conda env update --file ${file}`,
      },
    },
  };
}

/** What tests need beside `requirements.txt`, by the names it usually has. */
const FURTHER_REQUIREMENTS = [
  "requirements-dev.txt",
  "requirements_dev.txt",
  "dev-requirements.txt",
  "requirements-test.txt",
  "test-requirements.txt",
];

/** What a project with these files in its root needs, in order. A project of several kinds gets a step for each. */
export function planDependencies(files: readonly string[]): readonly InstallStep[] {
  const root = new Set(files);
  const steps = GROUPS.flatMap((rules) => {
    const rule = rules.find(({ file, also }) => root.has(file) && (also === undefined || root.has(also)));
    return rule === undefined ? [] : [{ ...rule.step, file: rule.file }];
  });
  // An environment file of conda names its own Python packages.
  const conda = steps.some(({ ecosystem }) => ecosystem === "conda");
  return steps
    .filter(({ ecosystem }) => !conda || !PYTHON.has(ecosystem))
    .map((step) => (step.file === "requirements.txt" ? withFurther(step, root) : step));
}

const PYTHON: ReadonlySet<Ecosystem> = new Set(["pip", "uv", "poetry", "pipenv"]);

function withFurther(step: InstallStep, root: ReadonlySet<string>): InstallStep {
  const further = FURTHER_REQUIREMENTS.filter((name) => root.has(name)).map((name) => ` -r ${name}`);
  return { ...step, command: `${step.command}${further.join("")}` };
}
