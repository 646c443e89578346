import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { requirePart } from "../require.ts";
import { CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

/** Numbers of `add_key`, `request_key` and `keyctl`. */
const CALLS = process.arch === "arm64" ? [217, 218, 219] : [248, 249, 250];
const [ADD, REQUEST, CONTROL] = CALLS;
const SESSION = -3;

/** Prints what the kernel answers; -1 is a refusal. */
const perl = (call: string) =>
  `perl -e 'my ($kind, $name, $value) = ("user", "picoclaw", "x"); my $r = syscall(${call}); print "answer $r\\n"'`;

let target: Target;
describe.if(process.platform === "linux" && requirePart("bwrap"))("the keys of the user's session", () => {
  beforeAll(() => {
    target = createTarget();
  });
  afterAll(() => target.remove());

  test.each([["overlay"], ["copy"]])("are neither read nor written by a job (%s)", (kind) => {
    const lines = [
      perl(`${CONTROL}, 0, ${SESSION}, 1`),
      perl(`${ADD}, $kind, $name, $value, 1, ${SESSION}`),
      perl(`${REQUEST}, $kind, $name, $value, ${SESSION}`),
    ];
    const said = target.attempt(lines, { env: { PICOCLAW_WORKER_TRANSACTION: kind } });
    expect(said.map((one) => one.said.trim())).toEqual(["answer -1", "answer -1", "answer -1"]);
    const [open] = target.attempt(lines.slice(0, 1), { env: CONFINE_OFF });
    expect(open?.said.trim()).toMatch(/^answer \d+$/);
  });
});
