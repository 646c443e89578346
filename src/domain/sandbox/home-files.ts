import { isInside } from "../platform/paths.ts";
import { type HomeRule, inDependencyFolder, isGitName } from "../policy/protection.ts";

/** The homes in a workspace, and which of its paths belong to them. All paths are relative to the workspace. */
export interface HomesInside {
  /** Empty: the workspace is the home. */
  readonly homes: readonly string[];
  /** Folders in which PATH looks for programs. */
  readonly programs: readonly string[];
  /** Where links in the homes lead, as far as that is in the workspace; asked once. */
  readonly linked: () => readonly string[];
  /** Names directly in a home that git tracks there; asked once a home. */
  readonly tracked: (home: string) => ReadonlySet<string>;
  /** The user lets jobs change these, and what is below them. */
  readonly writable: readonly string[];
}

/**
 * Which paths of a workspace are a home's own. A name that begins with a dot is one, unless projects have it too: it belongs to
 * some program of the user, which reads it at the next login, in the next shell or at its next start. That holds for unknown
 * programs too, so no list decides it. The lists only name caches, and what is known to be run or obeyed.
 */
export function createHomeRules(inside: HomesInside): (path: string) => HomeRule | null {
  const { homes, programs, writable } = inside;
  if (homes.length === 0) return () => null;
  let linked: readonly string[] | null = null;
  const tracked = new Map<string, ReadonlySet<string>>();
  const isTracked = (home: string, name: string) => {
    const known = tracked.get(home) ?? inside.tracked(home);
    tracked.set(home, known);
    return known.has(name);
  };
  return (path) => {
    if (path.startsWith("..") || writable.some((one) => isInside(one, path))) return null;
    for (const home of homes) {
      if (home !== "" && !isInside(home, path)) continue;
      const below = home === "" ? path : path.slice(home.length + 1);
      const rule = ruleInHome(below);
      if (rule === null) continue;
      if (rule === "state" && isTracked(home, below.split("/")[0] as string)) continue;
      return rule;
    }
    if (programs.some((folder) => isInside(folder, path)) && !inDependencyFolder(path)) return "obeyed";
    linked ??= inside.linked();
    return linked.some((one) => isInside(one, path)) ? "obeyed" : null;
  };
}

/** By the path below a home. */
export function ruleInHome(path: string): HomeRule | null {
  const top = path.split("/")[0] as string;
  if (isGitName(top) || PROJECTS.test(top)) return null;
  if (CACHES.test(path)) return "cache";
  if (OBEYED.test(path)) return "obeyed";
  return top.startsWith(".") ? "state" : null;
}

/** Names with a dot that projects have at their top: settings that run nothing, and folders that tools fill. */
const PROJECTS =
  /^\.(?:github|gitlab|gitlab-ci\.yml|gitignore|gitattributes|gitmodules|gitkeep|mailmap|dockerignore|editorconfig|env|env\..*|venv|tox|nox|eggs|next|nuxt|svelte-kit|turbo|parcel-cache|pytest_cache|mypy_cache|ruff_cache|hypothesis|nyc_output|ipynb_checkpoints|coverage(?:\..*)?|eslintcache)$/i;

/** The paths of a list, and all below them. */
const at = (paths: string) => `^(?:${paths.trim().split(/\s+/).join("|")})(?:/|$)`;

/** Tools fill, empty and recreate these: removing one costs only time. */
const CACHES = new RegExp(
  [
    at(String.raw`
      \.cache \.npm \.pnpm-store \.ccache \.node-gyp \.m2/repository \.bun/install/cache \.nuget/packages \.ivy2/cache
      \.gradle/(?:caches|daemon|native|notifications|\.tmp) \.cargo/(?:registry|git|\.package-cache[^/]*|\.global-cache)
      \.yarn/berry \.local/share/(?:Trash|pnpm/store) \.local/state \.thumbnails go/pkg`),
    "^\\.[^/]*(?:_history|hist|hsts|info)$",
    "^\\.DS_Store$",
  ].join("|"),
  "i",
);

/** Names that are run or obeyed, or hold keys: a command that writes to one fails. Other names in a home are left out, and noted. */
const OBEYED = new RegExp(
  [
    // Start files of shells and sessions.
    "^\\.(?:bash|zsh|zlog|sh|ksh|mksh|csh|tcsh|fish|xonsh|profile|login|logout|inputrc|pam_environment|xprofile|xinit|xsession|xserver|gnomerc|tmux|screenrc|oh-my-|zprofile|zinit|envrc)[^/]*(?:/|$)",
    // Start files of editors, debuggers and interpreters, and settings of what is called every day.
    "^\\.(?:vim|gvim|exrc|nano|emacs|gdb|lldb|pdb|irb|pry|Rprofile|git|hg|npmrc|yarnrc|bunfig|condarc|gemrc|asdfrc|curlrc|wgetrc|mailcap|mailrc|procmail|forward|crontab)[^/]*(?:/|$)",
    // Keys, and settings that name programs to get them.
    "^\\.(?:ssh|gnupg|netrc|docker|kube|aws|azure|claude|codex|gemini|vscode|cursor|dbus|kde|i3|fluxbox)[^/]*(?:/|$)",
    at(String.raw`
      \.config/(?:git|fish|zsh|bash|nushell|powershell|systemd|autostart|autostart-scripts|environment\.d|plasma-workspace|i3|sway|hypr|openbox|awesome|bspwm|niri|nvim|vim|emacs|helix|tmux|starship\.toml|direnv|mise|pip|pnpm|npm|yarn|uv|containers|gh|Code|Cursor)
      \.local/(?:bin|lib|pipx)
      \.local/share/(?:systemd|applications|dbus-1|bash-completion|zsh|fish|nautilus|mise|pipx|uv|fnm|nvim)
      \.gradle/(?:init\.d|init\.gradle|gradle\.properties)
      \.m2/(?:settings[^/]*|toolchains\.xml|extensions\.xml)`),
    // Programs, and the managers of their versions.
    at(String.raw`
      \.(?:cargo|rustup|bun|deno|volta|nvm|fnm|pyenv|rbenv|rvm|asdf|sdkman|jenv|nodenv|goenv|ghcup|dotnet|opam|juliaup|pixi|proto|nix-profile|npm-global|npm-packages)
      bin go/bin miniconda3 miniforge3 mambaforge anaconda3 micromamba`),
  ].join("|"),
  "i",
);
