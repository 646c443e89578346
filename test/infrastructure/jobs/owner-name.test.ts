import { expect, test } from "bun:test";
import {
  createOwnerNames,
  mayLive,
  processBirth,
} from "../../../src/infrastructure/platform/process-table.ts";

const NOBODY = 2 ** 22 + 1;

test("an owner is gone when its number is unused, or another process's by now; of strangers it is unknown", () => {
  const names = createOwnerNames(process.pid);
  const { place, isGone } = names;
  expect(isGone(names.next())).toBe(false);
  expect(isGone(`${place} ${NOBODY} 1 abc.1`)).toBe(true);
  expect(isGone(`${place} ${process.pid} 1 abc.1`)).toBe(process.platform === "linux");
  expect(isGone(`boot/pid:[1] ${process.pid} 1 abc.1`)).toBe(false);
  // As earlier versions wrote them.
  expect(isGone(`${place} ${process.pid} abc.1`)).toBe(false);
  expect(isGone(`${place} ${NOBODY} abc.1`)).toBe(true);
});

test("what an earlier boot began in a home is over; another container may still be at it", () => {
  const birth = processBirth(process.pid);
  const [boot] = birth.split("/");
  expect(mayLive(process.pid, birth)).toBe(true);
  expect(mayLive(process.pid, undefined)).toBe(true);
  expect(mayLive(NOBODY, birth)).toBe(false);
  expect(mayLive(process.pid, `${boot}/pid:[1] 1`)).toBe(true);
  expect(mayLive(process.pid, "another-boot/pid:[1] 1")).toBe(false);
});
