import { expect, test } from "bun:test";
import { type LoginVerdict, validateLogin } from "../../../src/infrastructure/tasks/credentials.ts";

const jwt = (sub: string) => `e30.${btoa(JSON.stringify({ sub })).replace(/=+$/, "")}.s`;
const login = (access: string, more: object = {}) =>
  JSON.stringify({
    tokens: { access_token: access, refresh_token: "r", account_id: "a", ...more },
    OPENAI_API_KEY: null,
  });
const placed = login("old", { id_token: jwt("me") });
const fresh = login("new", { id_token: jwt("me") });

const CASES: readonly (readonly [string, string, string | null, LoginVerdict])[] = [
  ["that is as it was", placed, placed, "same"],
  ["that was refreshed goes back", fresh, placed, "refreshed"],
  ["that went back already", fresh, fresh, "same"],
  ["that the host refreshed, too, does not", fresh, login("other", { id_token: jwt("me") }), "host-changed"],
  ["that the host has no more does not", fresh, null, "host-changed"],
  ["of another account does not", login("new", { id_token: jwt("me"), account_id: "b" }), placed, "unlike"],
  ["of another person does not", login("new", { id_token: jwt("you") }), placed, "unlike"],
  ["with more in it than tokens does not", fresh.replace("{", '{"helper":"sh -c evil",'), placed, "unlike"],
  ["that is no JSON does not", "rubbish", placed, "unlike"],
  ["that is empty does not", "{}", placed, "unlike"],
  ["that is huge does not", login("x".repeat(20_000), { id_token: jwt("me") }), placed, "unlike"],
];

test.each(CASES)("a login %s", (_, inside, host, verdict) => {
  expect(validateLogin({ placed, inside, host })).toBe(verdict);
});
