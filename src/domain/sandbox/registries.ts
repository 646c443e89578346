/**
 * The hosts that commands of a model may reach without any setting: public registries from which package managers download, and
 * the public forges that count when a repository has a remote there. Data only; `domain/policy/network.ts` judges. Invariant: no
 * host is here only because it takes uploads (the upload hosts of registries are not).
 */

/**
 * Package registries, and the downloads of the tool chains that belong to them, by line: npm, yarn, node-gyp, JSR; Python; Go; Rust;
 * Maven, Gradle, Android; Ruby, PHP, .NET, Elixir, R, Haskell; distributions.
 */
export const REGISTRIES: readonly string[] = `
  registry.npmjs.org registry.yarnpkg.com nodejs.org jsr.io npm.jsr.io
  pypi.org files.pythonhosted.org conda.anaconda.org repo.anaconda.com
  proxy.golang.org sum.golang.org
  index.crates.io static.crates.io static.rust-lang.org
  repo.maven.apache.org repo1.maven.org plugins.gradle.org plugins-artifacts.gradle.org
  services.gradle.org downloads.gradle.org maven.google.com dl.google.com
  rubygems.org index.rubygems.org packagist.org repo.packagist.org api.nuget.org repo.hex.pm builds.hex.pm
  cloud.r-project.org hackage.haskell.org
  deb.debian.org security.debian.org archive.ubuntu.com security.ubuntu.com ports.ubuntu.com
  dl-cdn.alpinelinux.org
`
  .trim()
  .split(/\s+/);

/** Public forges, each with the hosts from which its repositories are downloaded. */
export const PUBLIC_FORGES: ReadonlyMap<string, readonly string[]> = new Map([
  ["github.com", ["github.com", "codeload.github.com"]],
  ["gitlab.com", ["gitlab.com"]],
  ["bitbucket.org", ["bitbucket.org"]],
  ["codeberg.org", ["codeberg.org"]],
  ["git.sr.ht", ["git.sr.ht"]],
  ["gitea.com", ["gitea.com"]],
]);
