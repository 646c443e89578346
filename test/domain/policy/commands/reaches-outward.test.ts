import { expect, test } from "bun:test";
import { reachesOutward } from "../../../../src/domain/policy/reaches-outward.ts";
import { OUTWARD_RULES } from "../../../../src/domain/policy/rules/outward.ts";
import { parseShell } from "../../../../src/infrastructure/policy/parse-shell.ts";
import { RULE_EXAMPLES } from "./examples.ts";

const SENDING = OUTWARD_RULES.flatMap(({ id }) => (id === "download-and-run" ? [] : RULE_EXAMPLES[id]));

test.each([
  ...SENDING.flatMap(({ match }) => match),
  "npm test && git push origin HEAD",
  "bash -c 'git push'",
  "timeout 5 env A=1 npm publish",
  "gh pr create --fill",
  "docker push example/image",
  "rsync -a dist/ host:/srv",
  "ssh host reboot",
  "git push 'unclosed",
])("%s reaches outward", (script) => {
  expect(reachesOutward(script, parseShell)).toBe(true);
});

test.each([
  ...SENDING.flatMap(({ notMatch }) => notMatch),
  "npm test",
  "npm run deploy-docs -- --dry",
  "gh pr view 3",
  "rsync -a a/ b/",
  "echo 'git push'",
  "curl -s https://example.com/data.json -o data.json",
  "unclosed 'quote",
])("%s does not", (script) => {
  expect(reachesOutward(script, parseShell)).toBe(false);
});
