import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const run = (command: string) => ({ calls: [{ name: "run", arguments: { command } }] });

type Said = string | ReturnType<typeof run>;

async function open(answers: readonly (Said | (() => Said))[], config = "") {
  const said = (turn: number) => answers[turn] ?? proposal("p", "");
  const answer = (one: Said | (() => Said)) => (typeof one === "function" ? one() : one);
  at = await openConversation((_, turn) => answer(said(turn)), {
    local: false,
    config: `security:\n  local_only: false\n${config}`,
  });
  at.write("a.txt", "one\n");
  at.write("b.txt", "b\n");
  at.write("c.txt", "c\n");
}

const AS_TRIED = proposal("As tested.", "as in the scratch view");

describe.if(requirePart("bwrap"))("a patch that is the scratch view", () => {
  test("lands what the runs changed: edits, new and removed files, links and modes, and nothing ignored or protected", async () => {
    await open([
      run("sed -i s/one/ONE/ a.txt; rm b.txt; mkdir d; printf 'x\\0y' > d/bytes; ln -s a.txt link"),
      run(
        "printf '#!/bin/sh\\n' > go.sh; chmod +x go.sh; echo KEY=1 > .env; mkdir -p node_modules/m __pycache__ out; touch node_modules/m/i.js __pycache__/a.pyc out/o.js e.log; touch c.txt",
      ),
      AS_TRIED,
    ]);
    at.write(".gitignore", "out/\n*.log\n");
    const before = Object.keys(at.tree());
    const reply = await at.send("/code3 change a.txt, b.txt and c.txt");
    expect(reply.ok).toBe(true);
    expect(at.asked).toHaveLength(3);
    expect(at.asked[0]?.system).toContain("as in the scratch view");
    const [job] = at.archive.list(["committed"]);
    const kinds = Object.fromEntries(job!.changes.map(({ path, kind }) => [path, kind]));
    expect(kinds).toMatchObject({ "a.txt": "modified", "b.txt": "deleted", "d/bytes": "added" });
    expect(kinds).toMatchObject({ link: "added", "go.sh": "added" });
    expect(Object.keys(kinds).filter((path) => path !== "d")).toHaveLength(5);
    expect(at.read("a.txt")).toBe("ONE\n");
    expect(at.read("d/bytes")).toBe("x\0y");
    expect((await at.send("/undo")).ok).toBe(true);
    expect(Object.keys(at.tree())).toEqual(before);
    expect([at.read("a.txt"), at.read("b.txt")]).toEqual(["one\n", "b\n"]);
  });

  test("is limited to the paths that it names, and commands beside it run over them", async () => {
    await open([
      run("echo 1 > a.txt; echo 2 > b.txt; mkdir -p src; echo 3 > src/new.txt"),
      proposal("p", "as in the scratch view: a.txt, `src`\n\n```bash\ncat a.txt src/new.txt > c.txt\n```"),
    ]);
    expect(await at.send("/code3 change a.txt, b.txt and c.txt")).toMatchObject({ ok: true });
    expect([at.read("a.txt"), at.read("b.txt"), at.read("c.txt")]).toEqual(["1\n", "b\n", "1\n3\n"]);
  });

  test("without a change goes back with the reason, and so does one for which the model ran nothing", async () => {
    await open([AS_TRIED, run("echo 1 > a.txt"), proposal("p", "as in the scratch view: b.txt"), AS_TRIED]);
    expect(await at.send("/code3 change a.txt, b.txt and c.txt")).toMatchObject({ ok: true });
    expect(at.asked[1]?.messages.at(-1)?.text).toContain("nothing of it differs from your draft");
    expect(at.asked[3]?.messages.at(-1)?.text).toContain("b.txt: not changed in the scratch view");
    expect(at.read("a.txt")).toBe("1\n");
  });

  test("keeps what a user saved in the same file meanwhile, and sends lines of both back", async () => {
    const lines = (first: string, last: string) => `${first}\n${"-\n".repeat(12)}${last}\n`;
    const afterSaved = (path: string, text: string) => () => {
      at.write(path, text);
      return AS_TRIED;
    };
    await open([
      run("sed -i s/one/ONE/ far.txt"),
      afterSaved("far.txt", lines("one", "LAST")),
      run("sed -i s/two/TWO/ near.txt"),
      afterSaved("near.txt", "2\n"),
      proposal("p", ""),
    ]);
    at.write("far.txt", lines("one", "last"));
    at.write("near.txt", "two\n");
    expect((await at.send("/code3 change far.txt")).ok).toBe(true);
    expect(at.read("far.txt")).toBe(lines("ONE", "LAST"));
    await at.send("/code3 change near.txt");
    expect(at.asked[4]?.messages.at(-1)?.text).toContain("near.txt");
    expect(at.read("near.txt")).toBe("2\n");
  });

  test("is judged by the checks over the draft, and a second one is judged by what it changes", async () => {
    const checks = 'checks:\n  command: "! grep -q bad a.txt"\n';
    await open([run("echo bad > a.txt"), AS_TRIED, run("echo good > a.txt"), AS_TRIED], checks);
    const reply = await at.send("/code3 change a.txt, b.txt and c.txt");
    expect(at.asked).toHaveLength(4);
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("good\n");
  });

  test("goes on from a draft whose earlier edits stay", async () => {
    await open([
      proposal("p", `${replace("a.txt", "not there", "x")}\n${replace("c.txt", "c", "C")}`),
      run("cat c.txt > a.txt; rm -r b.txt"),
      proposal("q", "```\nas in the scratch view\n```"),
    ]);
    expect(await at.send("/code3 change a.txt, b.txt and c.txt")).toMatchObject({ ok: true });
    expect(Object.keys(at.tree())).not.toContain("b.txt");
    expect([at.read("a.txt"), at.read("c.txt")]).toEqual(["C\n", "C\n"]);
  });

  test("leaves a folder with ignored files in place, and hidden files of a replaced folder untouched", async () => {
    await open([run("rm -rf d; mkdir d; echo new > d/new.txt"), AS_TRIED]);
    at.write(".gitignore", "*.log\n");
    at.write("d/keep.log", "log\n");
    at.write("d/.env", "KEY=secret\n");
    at.write("d/old.txt", "old\n");
    expect((await at.send("/code3 change d")).ok).toBe(true);
    expect(at.read("d/new.txt")).toBe("new\n");
    expect([at.read("d/keep.log"), at.read("d/.env")]).toEqual(["log\n", "KEY=secret\n"]);
    expect(Object.keys(at.tree())).not.toContain("d/old.txt");
  });
});
