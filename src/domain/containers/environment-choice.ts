/** A language, the files that give it away, and which of our environments serves it best. */
export interface Language {
  readonly name: string;
  /** The environment of that name is taken where the configuration has one; else the nearest of ours. */
  readonly environment: string;
  readonly nearest: "python" | "miniforge" | "node";
  /** Names in the project's root, the tell-tale ones first. `*` stands for anything but a slash. */
  readonly markers: readonly string[];
  /** Extensions of its source files, without the dot. */
  readonly extensions: readonly string[];
}

/**
 * The files by which a project's language is known. Conda comes first: its file names the whole environment, whatever
 * else lies beside it. The order of the others counts only between equals.
 */
export const LANGUAGES: readonly Language[] = [
  {
    name: "conda",
    environment: "miniforge",
    nearest: "miniforge",
    markers: ["condaenv.yaml", "condaenv.yml", "environment.yml", "environment.yaml", "conda-lock.yml"],
    extensions: [],
  },
  {
    name: "Python",
    environment: "python",
    nearest: "python",
    markers: [
      ...["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pyproject.toml", "requirements.txt"],
      ...["Pipfile", "setup.py", "setup.cfg", "requirements*.txt", "tox.ini", "manage.py"],
    ],
    extensions: ["py", "pyi", "ipynb"],
  },
  {
    name: "Node.js",
    environment: "node",
    nearest: "node",
    markers: [
      ...["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "package.json"],
      ...["tsconfig.json", "jsconfig.json"],
    ],
    extensions: ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte"],
  },
  {
    name: "Bun",
    environment: "bun",
    nearest: "node",
    markers: ["bun.lock", "bun.lockb", "bunfig.toml"],
    extensions: [],
  },
  {
    name: "Deno",
    environment: "deno",
    nearest: "node",
    markers: ["deno.lock", "deno.json", "deno.jsonc"],
    extensions: [],
  },
  {
    name: "Go",
    environment: "go",
    nearest: "python",
    markers: ["go.mod", "go.work"],
    extensions: ["go"],
  },
  {
    name: "Rust",
    environment: "rust",
    nearest: "python",
    markers: ["Cargo.lock", "Cargo.toml"],
    extensions: ["rs"],
  },
  {
    name: "Ruby",
    environment: "ruby",
    nearest: "python",
    markers: ["Gemfile.lock", "Gemfile", "*.gemspec", "Rakefile"],
    extensions: ["rb"],
  },
  {
    name: "PHP",
    environment: "php",
    nearest: "python",
    markers: ["composer.lock", "composer.json"],
    extensions: ["php"],
  },
  {
    name: "Java",
    environment: "java",
    nearest: "python",
    markers: ["pom.xml", "build.gradle", "build.gradle.kts", "gradlew"],
    extensions: ["java", "kt", "scala"],
  },
  {
    name: ".NET",
    environment: "dotnet",
    nearest: "python",
    markers: ["*.sln", "*.csproj", "*.fsproj", "global.json"],
    extensions: ["cs", "fs"],
  },
  {
    name: "Elixir",
    environment: "elixir",
    nearest: "python",
    markers: ["mix.exs"],
    extensions: ["ex", "exs"],
  },
  {
    name: "Swift",
    environment: "swift",
    nearest: "python",
    markers: ["Package.swift"],
    extensions: ["swift"],
  },
  {
    name: "R",
    environment: "r",
    nearest: "miniforge",
    markers: ["renv.lock", "*.Rproj", "DESCRIPTION"],
    extensions: ["r", "R", "Rmd"],
  },
  {
    name: "Julia",
    environment: "julia",
    nearest: "miniforge",
    markers: ["Project.toml", "Manifest.toml"],
    extensions: ["jl"],
  },
  {
    name: "C/C++",
    environment: "cpp",
    nearest: "python",
    markers: ["CMakeLists.txt", "meson.build", "configure.ac", "configure"],
    extensions: ["c", "cc", "cpp", "cxx", "h", "hpp"],
  },
];

/** Whether a name fits a marker. */
export function fitsMarker(marker: string, name: string): boolean {
  const star = marker.indexOf("*");
  if (star < 0) return marker === name;
  const [before, after] = [marker.slice(0, star), marker.slice(star + 1)];
  return name.length >= marker.length - 1 && name.startsWith(before) && name.endsWith(after);
}
