const GIT_HOSTS = ["github.com", "gitlab.com", "bitbucket.org"];

/** For installations: an environment has neither ssh nor a key, and what is public can be cloned by HTTPS as well. */
export function gitOverHttps(): Readonly<Record<string, string>> {
  const pairs = GIT_HOSTS.flatMap((host) =>
    [`ssh://git@${host}/`, `git@${host}:`].map((from) => [`url.https://${host}/.insteadOf`, from] as const),
  );
  const entries = pairs.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(pairs.length), ...Object.fromEntries(entries) };
}
