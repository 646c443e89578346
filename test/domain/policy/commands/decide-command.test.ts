// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell scripts

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import {
  type AllowedCommandsSettings,
  allowedCommands,
  allowedCommandsText,
  createCommandPolicy,
  fillExecutorPrompt,
} from "../../../../src/domain/policy/allowed-commands.ts";
import { decideCommand, explainRefusal } from "../../../../src/domain/policy/decide-command.ts";
import type { RuleId } from "../../../../src/domain/policy/rules/command-rule.ts";
import { parseShell } from "../../../../src/infrastructure/policy/parse-shell.ts";
import { cpuTimeMs } from "../../../cpu-time.ts";

const settings: AllowedCommandsSettings = { use_default: true, additional: [], exclude: [], custom_list: [] };
const policyWith = (more: Partial<AllowedCommandsSettings>) => createCommandPolicy({ ...settings, ...more });
const standard = policyWith({});
const decide = (script: string, policy = standard) => decideCommand(script, policy, parseShell);
const ruleOf = (script: string, policy = standard) => {
  const decision = decide(script, policy);
  return decision.allowed ? "allowed" : decision.refusal.rule;
};

/** One example of every rule, and what models send all day. */
const ALLOWED = `npm install | npm run build | npm test | yarn install | pnpm build | pip install x | pip list
pip3 install -r requirements.txt | conda activate x | conda env create | mamba env create -f environment.yml
python setup.py | python -m pytest | python3 -m venv x | python3 script.py | cargo build | cargo test | make install
cmake --build . | bundle exec rspec | gem install x | composer update | dotnet build | pytest tests/ | jest --coverage
mocha tests/ | rspec spec/ | phpunit tests/ | cargo test --all | dotnet test | eslint --fix . | prettier --write .
black --check . | flake8 src/ | pylint src/ | mypy src/ | rubocop -a | rustfmt --check . | cargo clippy | tsc --noEmit
ls -la | cat file.txt | head -n 50 file.txt | tail -n 50 file.txt | grep -rn "function" src/ | find . -name "*.py"
wc -l file.txt | diff file1.txt file2.txt | tree -L 2 | file filename | stat filename | git status | git diff HEAD~1
git log --oneline -10 | git branch -a | git show HEAD | git blame file.txt | echo "text" | pwd | cd src/ | mkdir -p dir/subdir
rm file.txt | cp src.txt dst.txt | mv old.txt new.txt | touch newfile.txt | chmod +x script.sh | env | which python
curl -s https://api.example.com | wget https://example.com/file | tar -xzf archive.tar.gz | unzip archive.zip
sed 's/old/new/g' file.txt | awk '{print $1}' file.txt | sort file.txt | uniq file.txt`
  .split(/\n| \| /)
  .concat([
    "cat data.json | jq '.key'",
    'find . -name "*.txt" | xargs grep "pattern"',
    "cd src && npm ci && npm test 2>&1 | tail -50",
    "(cd web; npm run build) || echo failed",
    'for f in *.py; do python -m py_compile "$f" || exit 1; done',
    "if [ -f package.json ]; then npm test; else pytest; fi",
    "cat > a.py <<'EOF'\nimport os\nos.system('rm -rf /')\n$(sudo x)\nEOF\npython a.py",
    "timeout 60 npm test",
    "NODE_ENV=test nohup npm start > log 2>&1 &",
    "time pytest -x",
    "bash -c 'set -e; npm ci; npm test'",
    'sh -c "ls | wc -l"',
    "bash <<'E'\nls\nE",
    "eval 'ls -la'",
    "trap 'rm -f tmp.txt' EXIT; npm test",
    "source .venv/bin/activate && pytest",
    "find . -type f -exec grep -l x {} +",
    "find . -name '*.sh' -exec bash -c 'head -1 \"$1\"' _ {} \\;",
    "ls | xargs -I{} cp {} /tmp/",
    "env -i A=1 npm test",
    "command -v npm",
    'x=$(git status --short); echo "$x"',
    "node_modules/.bin/jest",
    "./node_modules/.bin/tsc -p .",
    "/usr/bin/git log",
    "check() { npm run lint; }; check",
    "case $1 in a) ls;; *) pwd;; esac",
    'while read -r l; do echo "$l"; done < file',
    "echo $((1 + 2))",
    "echo 日本語 | grep 本",
    "ls;",
    "# nothing",
    "",
    "pytest && \\\n  flake8",
  ]);

test.each(ALLOWED.map((script) => [script]))("allows %s", (script) => {
  const decision = decide(script);
  expect(decision.allowed ? "allowed" : explainRefusal(decision.refusal, "en")).toBe("allowed");
});

const REFUSED: readonly (readonly [RuleId, string])[] = [
  ["not-allowed", "git commit -m x"],
  ["not-allowed", "git"],
  ["not-allowed", "bash script.sh"],
  ["not-allowed", "./script.sh"],
  ["not-allowed", "/tmp/npm"],
  ["not-allowed", "/usr/bin/../../tmp/npm"],
  ["not-allowed", "busybox rm x"],
  ["not-allowed", "ls\r\npwd"],
  ["not-allowed", "rm\u00a0x"],
  ["not-allowed", "ｒｍ x"],
  ["not-allowed", "if false; then foo() { :; }; fi; foo"],
  ["not-allowed", "true && foo() { :; }; foo"],
  ["not-allowed", "ls | xargs sh"],
  ["not-allowed", "find . -exec docker {} \\;"],
  ["not-allowed", "coproc docker ps"],
  ["not-allowed", "ls <(docker ps)"],
  ["not-allowed", "cat > >(docker ps)"],
  ["not-allowed", "a[$(docker ps)]=1"],
  ["not-allowed", "x=(1 $(docker ps))"],
  ["not-allowed", "echo ${x:-$(docker ps)}"],
  ["not-allowed", "echo $(( $(docker ps) + 1 ))"],
  ["not-allowed", 'echo "`docker ps`"'],
  ["not-allowed", "echo `echo \\`docker ps\\``"],
  ["not-allowed", "echo {a,$(docker ps)}"],
  ["not-allowed", "cat <<E\n${x:-$(docker ps)}\nE"],
  ["not-allowed", "export A=$(docker ps)"],
  ["not-allowed", "ls > $(docker ps)"],
  ["not-allowed", "! docker ps"],
  ["not-allowed", "time docker ps"],
  ["not-allowed", "nice -n 5 timeout -k 1 5 docker ps"],
  ["not-allowed", "env -u A -C /tmp B=1 docker ps"],
  ["not-allowed", "env -S 'docker ps'"],
  ["not-allowed", "env '-Sdocker ps'"],
  ["not-allowed", "exec docker ps"],
  ["not-allowed", "command docker ps"],
  ["not-allowed", "eval docker ps"],
  ["not-allowed", "trap 'docker ps' EXIT"],
  ["not-allowed", "bash -ec 'bash -c \"docker ps\"'"],
  ["not-allowed", "bash -o pipefail -c 'docker ps'"],
  ["not-allowed", "bash <<< 'docker ps'"],
  ["not-allowed", "{ bash; } <<E\ndocker ps\nE"],
  ["not-allowed", "ls\ndocker ps"],
  ["not-allowed", "ls & docker ps"],
  ["unknown-name", "$X"],
  ["unknown-name", '"$@"'],
  ["unknown-name", "${x}rm y"],
  ["unknown-name", "$(echo rm) y"],
  ["unknown-name", "/bin/r? y"],
  ["unknown-name", "{rm,-r,x}"],
  ["unknown-name", "for c in rm; do $c x; done"],
  ["unknown-name", "find . -exec {} \\;"],
  ["unknown-name", "ls | xargs -I % % x"],
  ["unknown-name", "timeout 5 $X"],
  ["unknown-name", "env $X"],
  ["unknown-name", "git $X"],
  ["unseen-script", "bash"],
  ["unseen-script", "cat x | sh"],
  ["unseen-script", 'bash -c "$X"'],
  ["unseen-script", 'bash -c "$(cat x)"'],
  ["unseen-script", "ls | xargs bash -c"],
  ["unseen-script", "eval $X"],
  ["unseen-script", "source <(ls)"],
  ["unseen-script", ". /dev/stdin"],
  ["unseen-script", "bash <<E\n$X\nE"],
  ["unseen-script", 'trap "$X" EXIT'],
  ["bash-only", "((rm -r x))"],
  ["bash-only", "[[ a && b ]]"],
  ["bash-only", "echo $'a\\'; sudo x #'"],
  ["evaluates-data", "echo ${x@P}"],
  ["syntax", "echo 'a"],
  ["syntax", "if ls"],
  ["syntax", "ls; )"],
  ["syntax", "echo $(ls"],
  ["syntax", "ls \0"],
  ["too-large", `echo ${"x".repeat(140_000)}`],
  ["too-complex", `echo ${"{".repeat(5000)}`],
  [
    "too-complex",
    `${'bash -c "'.repeat(0)}${Array.from({ length: 20 }).reduce<string>((inner) => `env ${inner}`, "ls")}`,
  ],
];

test.each(REFUSED)("refuses by %s: %s", (rule, script) => {
  expect(ruleOf(script)).toBe(rule);
});

test("inside bash -c, bash's own forms are read as bash reads them", () => {
  expect(ruleOf("bash -c '[[ a && b ]] && ((1 + 1))'")).toBe("allowed");
  expect(ruleOf("bash -c '[[ a && $(docker ps) ]]'")).toBe("not-allowed");
});

test("names the programs that would run", () => {
  expect(decide("cd a && npm ci | tail -1; bash -c 'timeout 5 pytest'")).toEqual({
    allowed: true,
    programs: ["cd", "npm", "tail", "bash", "timeout", "pytest"],
  });
});

describe("the configuration", () => {
  test("additional allows a program, a subcommand or a path", () => {
    const policy = policyWith({ additional: ["node", "git commit", "./gradlew"] });
    expect(ruleOf("node a.js && git -C x commit -m y && ./gradlew test", policy)).toBe("allowed");
    expect(ruleOf("git rebase", policy)).toBe("not-allowed");
  });
  test("exclude beats the list, subcommands and additional", () => {
    const policy = policyWith({ exclude: ["curl", "cargo test", "git"], additional: ["curl", "git push"] });
    expect(ruleOf("curl https://example.com", policy)).toBe("excluded");
    expect(ruleOf("cargo test", policy)).toBe("excluded");
    expect(ruleOf("cargo build", policy)).toBe("allowed");
    expect(ruleOf("git status", policy)).toBe("excluded");
    expect(allowedCommandsText(policy)).not.toMatch(/curl|git|cargo test/);
  });
  test("a custom list replaces the default", () => {
    const policy = policyWith({ use_default: false, custom_list: ["npm", " python ", "npm"] });
    expect(allowedCommandsText(policy)).toBe("Custom: npm, python");
    expect(ruleOf("npm test; python a.py", policy)).toBe("allowed");
    expect(ruleOf("ls", policy)).toBe("not-allowed");
  });
  test("no configuration allows a denied command", () => {
    const policy = policyWith({ additional: ["sudo", "rm -rf", "git push", "git"] });
    expect(ruleOf("sudo ls", policy)).toBe("sudo");
    expect(ruleOf("rm -rf x", policy)).toBe("rm-rf");
    expect(ruleOf("git push", policy)).toBe("git-push");
  });
});

describe("the prompt", () => {
  const listed = `Build/Package Management: npm, yarn, pnpm, pip, pip3, conda, mamba, python, python3, cargo, make, cmake, bundle, gem, composer, dotnet
Test Execution: pytest, jest, mocha, rspec, phpunit, cargo test, dotnet test
Linter/Formatter: eslint, prettier, black, flake8, pylint, mypy, rubocop, rustfmt, clippy, tsc
File Operations: ls, cat, head, tail, grep, find, wc, diff, tree, file, stat
Version Control: git status, git diff, git log, git branch, git show, git blame
Utilities: echo, pwd, cd, mkdir, rm, cp, mv, touch, chmod, env, which, curl, wget, tar, unzip, jq, sed, awk, sort, uniq, xargs`;
  test("lists the commands in a fixed form", () => {
    expect(allowedCommandsText(standard)).toBe(listed);
    expect(Object.keys(allowedCommands(standard))).toHaveLength(6);
  });
  test("additions by configuration are a line of their own", () => {
    expect(allowedCommandsText(policyWith({ additional: ["node", "npm"] }))).toBe(
      `${listed}\nAdditional: node`,
    );
  });
  test("the template takes the list in", () => {
    const template = readFileSync("system_prompt_command_executor.txt", "utf8");
    expect(template).toStartWith("## Command Execution Feature\n");
    const filled = fillExecutorPrompt(template, "a: $& b");
    expect(filled).toContain("\n\na: $& b\n\n### Key Features");
    expect(filled).not.toContain("{allowed_commands_list}");
  });
});

test("a refusal names its rule, the command, and what to do instead, in both languages", () => {
  for (const [rule, script] of REFUSED) {
    const decision = decide(script);
    if (decision.allowed) throw new Error(script);
    for (const locale of ["ja", "en"] as const) {
      const text = explainRefusal(decision.refusal, locale);
      expect(text).toContain(`(${rule})`);
      expect(text.split("\n")).toHaveLength(3);
      expect(text).not.toContain("undefined");
      expect(text.length).toBeLessThan(700);
    }
  }
  const decision = decide("cd x && rm -rf build");
  expect(decision.allowed ? "" : explainRefusal(decision.refusal, "ja")).toBe(
    "コマンドを拒否しました (rm-rf): 再帰的強制削除による誤削除の防止\n  rm -rf build\n" +
      "ファイルを指定する（`rm FILE`）か、プロジェクト内のフォルダを `rm -r FOLDER` で削除してください。",
  );
});

/** One word, written in ways that mean the same to every shell. */
const spelled = (word: string) =>
  fc
    .array(fc.constantFrom("plain", "single", "double", "escaped", "empty", "continued"), {
      minLength: word.length,
      maxLength: word.length,
    })
    .map((ways) =>
      [...word]
        .map((letter, index) => {
          const way = ways[index];
          if (way === "single") return `'${letter}'`;
          if (way === "double") return `"${letter}"`;
          if (way === "escaped") return `\\${letter}`;
          if (way === "empty") return `''${letter}`;
          if (way === "continued") return `\\\n${letter}`;
          return letter;
        })
        .join(""),
    );

const CALLS = [
  "rm -rf x",
  "sudo ls",
  "git push",
  "git status",
  "npm test",
  "chmod 777 x",
  "find . -delete",
  "env dd x",
  "docker ps",
];

test("quoting changes no decision", () => {
  const calls = CALLS.map((call) =>
    fc.tuple(...call.split(" ").map(spelled)).map((words) => [call, words.join(" ")] as const),
  );
  fc.assert(
    fc.property(fc.oneof(...calls), ([call, written]) => {
      expect(ruleOf(written)).toBe(ruleOf(call));
    }),
    { numRuns: 300 },
  );
});

test("every text has an answer", () => {
  const pieces = fc.constantFrom(
    ..."$( ) ` ' \" \\ { } (( )) [[ ]] ; & && || | <<E \nE\n <( >( $(( ${x:- } $' if then fi do done for in case esac ! time a=1 ls rm -rf sudo xargs bash -c eval \n # \t 日本 \u0000 \u{1f980} \ud800 %".split(
      " ",
    ),
    " ",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(pieces, { maxLength: 40 }).map((list) => list.join(" ")),
        fc.string({ unit: "binary" }),
      ),
      (text) => {
        const decision = decide(text);
        if (!decision.allowed) expect(explainRefusal(decision.refusal, "ja").length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 2000 },
  );
});

test("hostile text is decided within a second", () => {
  const units =
    "( $( \"$( ` \\ <<a_ { {a,b} {a, $(( ${a:- [ @( if_ ; a_ a| !_ a=( <( f()_ a[ (( $((a; <<'a\n 1+ while_a;do_ $((1+".split(
      " ",
    );
  for (const unit of units) {
    const piece = unit.replaceAll("_", " ");
    const text = piece.repeat(Math.floor(131_000 / piece.length));
    const start = cpuTimeMs();
    decide(text);
    decide(text.slice(0, 20_000));
    expect([unit, Math.floor((cpuTimeMs() - start) / 1000)]).toEqual([unit, 0]);
  }
});

test("what an environment adds is allowed there and nowhere else", () => {
  const there = createCommandPolicy(settings, ["node", "npx"]);
  expect(ruleOf("node --test && npx tsc --noEmit")).toBe("not-allowed");
  expect(ruleOf("node --test && npx tsc --noEmit", there)).toBe("allowed");
  expect(ruleOf("node x.js", createCommandPolicy({ ...settings, exclude: ["node"] }, ["node"]))).toBe(
    "excluded",
  );
});
