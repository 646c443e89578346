/** Several coders at one message: which wait, which is chosen, which are informed. */
import { expect, test } from "bun:test";
import { runCoderCandidates } from "../../../src/application/chat/run-candidates.ts";

type Chosen = (ending: string) => Promise<boolean>;
const drafting = (ending: string) => async (chosen: Chosen) =>
  (await chosen(ending)) ? "landed" : "dropped";

function run(
  candidates: Readonly<Record<string, (chosen: Chosen) => Promise<string>>>,
  more: { atOnce: boolean },
) {
  const asked: string[][] = [];
  const ends = runCoderCandidates<string, string, string>({
    candidates: Object.keys(candidates),
    atOnce: more.atOnce,
    shouldContinue: (came) => came.kind === "waits" && came.ending === "red",
    run: (name, chosen) => (candidates[name] as (chosen: Chosen) => Promise<string>)(chosen),
    choose: async (waiting) => {
      asked.push([...waiting.keys()]);
      return [...waiting].find(([, ending]) => ending === "green")?.[0] ?? null;
    },
  });
  return { ends, asked };
}

test("one draft is taken when all are there, in the order they were asked", async () => {
  const late = async (chosen: Chosen) => Bun.sleep(5).then(() => drafting("green")(chosen));
  const { ends, asked } = run({ a: late, b: drafting("red"), c: async () => "said" }, { atOnce: true });
  expect(Object.fromEntries(await ends)).toEqual({ a: "landed", b: "dropped", c: "said" });
  expect(asked).toEqual([["a", "b"]]);
});

test("one after the other ends with the first that is green", async () => {
  const { ends } = run({ a: drafting("red"), b: drafting("green"), c: drafting("green") }, { atOnce: false });
  expect(Object.fromEntries(await ends)).toEqual({ a: "dropped", b: "landed" });
});

test("if one breaks, nothing is taken, and no caller is left waiting", async () => {
  const seen: string[] = [];
  const noting = async (chosen: Chosen) => {
    seen.push(await drafting("green")(chosen));
    return "";
  };
  const broken = async () => Promise.reject(new Error("broken"));
  const { ends } = run({ a: noting, b: broken }, { atOnce: true });
  expect(await ends.catch((cause: Error) => cause.message)).toBe("broken");
  expect(seen).toEqual(["dropped"]);
});
