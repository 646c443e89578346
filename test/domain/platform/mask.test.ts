import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createMasker, maskSecrets } from "../../../src/domain/platform/mask.ts";
import { looksLikeSecretName } from "../../../src/domain/platform/secret-name.ts";

const PEM_LINES = "MIIEpAIBAAKCAQEA7bq0cXyWcUk1nGqMIIEpAIBAAKCAQEA7bq0cXyWcUk1nGq/\n".repeat(6);
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";

describe("a secret is masked", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["ANTHROPIC_API_KEY=sk-ant-1234...", "ANTHROPIC_API_KEY=sk-ant-****"],
    ["key sk-ant-api03-AbC_def-123456 end", "key sk-ant-**** end"],
    ["sk-proj-abcd1234efgh5678", "sk-proj-****"],
    ["using sk-0123456789abcdef0123456789abcdef now", "using sk-**** now"],
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_****"],
    ["github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv", "github_pat_****"],
    ["glpat-abcdefghij0123456789", "glpat-****"],
    ["xoxb-123456789012-abcdefghijkl", "xoxb-****"],
    ["AKIAIOSFODNN7EXAMPLE", "AKIA****"],
    [`AIza${"a1".repeat(18)}`, "AIza****"],
    [`token is ${JWT}.`, "token is ****."],
    ["export DB_PASSWORD=hunter2", "export DB_PASSWORD=****"],
    ["DB_PASSWORD=p@ss(word)! next", "DB_PASSWORD=**** next"],
    ['"api_key": "abcdef"', '"api_key": "****"'],
    ['{\\"client_secret\\": \\"abcdef\\"}', '{\\"client_secret\\": \\"****\\"}'],
    ["{'password':'correct horse battery'}", "{'password':'****'}"],
    ["password: hunter2hunter2", "password: ****"],
    ["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = ****"],
    ["GET /cb?access_token=abc123&state=9", "GET /cb?access_token=****&state=9"],
    ["--token=abcdef other", "--token=**** other"],
    ["https://user:pass@host/path", "https://user:****@host/path"],
    ["https://user:p@ss@host/path", "https://user:****@host/path"],
    ["https://0123456789abcdef0123456789@host", "https://****@host"],
    ["postgres://app:s3cret@db:5432/x", "postgres://app:****@db:5432/x"],
    ["Authorization: Bearer abcdef", "Authorization: Bearer ****"],
    ["authorization: Basic dXNlcjpwYXNz", "authorization: Basic ****"],
    ['-H "Authorization: token abcdef12"', '-H "Authorization: token ****"'],
    ["curl: Bearer abcdefghijklmnop0", "curl: Bearer ****"],
    [
      `a\n-----BEGIN RSA PRIVATE KEY-----\n${PEM_LINES}short==\n-----END RSA PRIVATE KEY-----\nb`,
      "a\n-----BEGIN RSA PRIVATE KEY-----\n****\n-----END RSA PRIVATE KEY-----\nb",
    ],
    [
      `"-----BEGIN PRIVATE KEY-----\\n${PEM_LINES.replaceAll("\n", "\\n")}-----END PRIVATE KEY-----\\n"`,
      '"-----BEGIN PRIVATE KEY-----\\n****\\n-----END PRIVATE KEY-----\\n"',
    ],
    [`-----BEGIN PRIVATE KEY-----\n${PEM_LINES}`, "-----BEGIN PRIVATE KEY-----\n****\n"],
    [`password=ghp_${JWT}`, "password=ghp_****"],
    ["sk-ant-aaaa1111.sk-ant-bbbb2222", "sk-ant-****.sk-ant-****"],
  ];
  for (const [text, masked] of cases) test(masked, () => expect(maskSecrets(text)).toBe(masked));
});

test("an apostrophe before a value does not hide it", () => {
  expect(maskSecrets("it's password: 'hunter22'")).toBe("it's password: '****'");
});

describe("honest text stays", () => {
  const texts = [
    "const token = getToken();",
    "const apiKey = process.env.API_KEY;",
    "password: string;",
    "  password: z.string().min(8),",
    "token: this.tokens[0]",
    "f(token=token, password=self.password)",
    "max_tokens=8192",
    '"max_tokens": 8192',
    'pad_token="<pad>" eos_token: "</s>"',
    'primary_key: "id"',
    'for (const key of keys) map[key] = "value1234567"',
    'key: "name"',
    "monkey=banana1234",
    "keyboard: qwerty1234567",
    "TOKEN=$TOKEN",
    "TOKEN=$" + "{TOKEN}",
    'api_key: "env:ANTHROPIC_API_KEY"',
    "--token <TOKEN>",
    "if (token === 'abc') return",
    "risk-assessment-of-the-whole-project-2024",
    "task-management-system-with-long-name-12345",
    "sk-learn-based-classifier",
    "hf_transfer is a package; npm_config_cache too",
    "Bearer authentication is required",
    "Authorization: required",
    "git@github.com:owner/repo.git https://github.com/a/b https://user@host/x",
    "https://host:8080/path@version",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "sha256-AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789AbCd=",
    "the -----BEGIN PRIVATE KEY----- header marks a key file",
    "The secret: nobody reads documentation",
    "public_key: ssh-ed25519",
    "OLDPWD=/home/me PWD=/home/me/x1234567",
    "実行完了！ パスワード: なし",
    "user:password:1000:",
    'assert "Confirm Password: " in result.output',
    "getpass('Password: ', stream=err)",
    'clamp(0.1, floor_token="under ")',
    'console.log("token: " + token.id); prompt(`Password:`)',
  ];
  for (const text of texts) test(text, () => expect(maskSecrets(text)).toBe(text));
});

describe("names", () => {
  test("that look like secrets are kept from commands", () => {
    const secret = [
      "ANTHROPIC_API_KEY",
      "NPM_TOKEN",
      "DB_PASS",
      "DB_PWD",
      "AWS_SECRET_ACCESS_KEY",
      "GITHUB_PAT",
    ];
    const more = [
      "MYTOKEN",
      "openaiApiKey",
      "GOOGLE_APPLICATION_CREDENTIALS",
      "SSH_AUTH_SOCK",
      "COOKIE",
      "APIKEY",
    ];
    expect([...secret, ...more].filter((name) => !looksLikeSecretName(name))).toEqual([]);
  });
  test("that do not, pass", () => {
    const honest = [
      "PATH",
      "HOME",
      "PWD",
      "OLDPWD",
      "KEYBOARD_LAYOUT",
      "TOKENIZERS_PARALLELISM",
      "LANG",
      "MONKEY",
    ];
    const more = ["XDG_SESSION_ID", "TERM", "COMPASS", "AUTHOR", "GIT_AUTHOR_NAME", "PATTERN"];
    expect([...honest, ...more].filter(looksLikeSecretName)).toEqual([]);
  });
});

describe("known secrets", () => {
  test("are masked in every position, also encoded", () => {
    const { mask } = createMasker({ secrets: ['top "secret"/1', "short"] });
    expect(mask('a top "secret"/1 b')).toBe("a **** b");
    expect(mask("?q=top%20%22secret%22%2F1")).toBe("?q=****");
    expect(mask('{"x":"top \\"secret\\"/1"}')).toBe('{"x":"****"}');
    expect(mask("short stays")).toBe("short stays");
  });
});

const secretArb = fc.stringMatching(/^[A-Za-z0-9+/_-]{8,40}$/);
const fragmentArb = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom(
    "\n",
    "\r\n",
    " ",
    "=",
    ": ",
    '"',
    "password=",
    "API_KEY=",
    '"token": "',
    "sk-ant-",
    "ghp_",
    "Authorization: Bearer ",
    "https://u:",
    "@host",
    "-----BEGIN PRIVATE KEY-----\n",
    "\n-----END PRIVATE KEY-----",
    PEM_LINES,
    JWT,
    "\\n",
    "'",
  ),
);
const textArb = (secrets: readonly string[]) =>
  fc
    .array(fc.oneof(fragmentArb, fc.constantFrom(...secrets)), { maxLength: 30 })
    .map((parts) => parts.join(""));

describe("for any text", () => {
  test("masking twice is masking once", () => {
    fc.assert(
      fc.property(textArb(["hunter2hunter2"]), (text) => {
        const once = maskSecrets(text);
        expect(maskSecrets(once)).toBe(once);
      }),
      { numRuns: 3000 },
    );
  });

  test("no known secret survives", () => {
    fc.assert(
      fc.property(
        fc
          .array(secretArb, { minLength: 1, maxLength: 3 })
          .chain((secrets) => fc.tuple(fc.constant(secrets), textArb(secrets))),
        ([secrets, text]) => {
          const whole = createMasker({ secrets }).mask(text);
          for (const secret of secrets) expect(whole.includes(secret)).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
