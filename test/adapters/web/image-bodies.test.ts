import { expect, test } from "bun:test";
import { readAttachments, readImageList } from "../../../src/adapters/web/request-bodies.ts";
import { readJsonBody } from "../../../src/adapters/web/web.ts";
import { turnsDuring } from "../../event-loop.ts";
import { PNG } from "../../fakes/pictures.ts";

/** An image of three and a half megabytes, which is as large as one may be. */
const LARGE = Buffer.concat([PNG, Buffer.alloc(3_600_000 - PNG.length, 7)]);
const WRAPPED = LARGE.toString("base64").replace(/.{76}/g, "$&\r\n");

const CASES: readonly (readonly [string, string, boolean])[] = [
  ["in one line", LARGE.toString("base64"), true],
  ["wrapped", `${WRAPPED}\n\n`, true],
  [
    "with blanks between all characters",
    LARGE.toString("base64").slice(0, 4_000_000).split("").join(" "),
    true,
  ],
  ["of another alphabet at its end", `${LARGE.toString("base64")}!`, false],
  ["ended in its middle", `${LARGE.toString("base64").slice(0, 2_000_000)}==${"A".repeat(2_000_000)}`, false],
];

test.each(CASES)("others go on while images are read: base64 %s", async (_, data, isGood) => {
  const images = [
    { name: "a.png", data },
    { name: "b.png", data },
  ];
  const { turns, done } = await turnsDuring(async () => {
    const request = new Request("http://localhost/", { method: "POST", body: JSON.stringify({ images }) });
    return readImageList((await readJsonBody(request, "images")).images);
  });
  expect(done).toMatchObject(isGood ? { ok: true } : { ok: false, trouble: { kind: "not-a-list" } });
  // One image that is refused is read to where it is wrong; the other is not read at all.
  const readCharacters = isGood ? 2 * data.length : 2_000_000;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(readCharacters / (256 * 1024)));
});

test("an image is read as it was encoded, however its lines are wrapped", async () => {
  const every = [
    LARGE.toString("base64"),
    WRAPPED,
    `\n${WRAPPED}`,
    LARGE.toString("base64").replace(/.{5}/g, "$& "),
  ];
  for (const data of every) {
    const read = await readImageList([{ name: "a.png", data }]);
    expect(read.ok && Buffer.from(read.attachments[0]?.bytes ?? []).equals(LARGE)).toBe(true);
  }
});

test("the name of an image is bounded", async () => {
  const data = PNG.toBase64();
  expect(await readImageList([{ name: "x".repeat(8_900_000), data }])).toMatchObject({ ok: false });
  expect(await readImageList([{ name: `/home/${"x".repeat(4_000)}`, data }])).toMatchObject({
    attachments: [{ name: "x".repeat(200) }],
  });
  const long = new File([PNG], `${"/".repeat(8_900_000)}a.png`, { type: "image/png" });
  expect(await readAttachments([long])).toMatchObject({ attachments: [{ name: "a.png" }] });
});

test.each([
  [[null]],
  [[7]],
  [[{}]],
  [[{ name: 7, data: "AAAA" }]],
  [[{ name: "a", data: "" }]],
  [[{ data: " " }]],
  [{}],
])("%j is not a list of images", async (given) => {
  expect(await readImageList(given)).toEqual({ ok: false, trouble: { kind: "not-a-list" } });
});

test("short bodies that come together are read together: a burst is seen before its first message is answered", async () => {
  const { turns, done } = await turnsDuring(() =>
    Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        readJsonBody(new Request("http://localhost/", { method: "POST", body: JSON.stringify({ n }) })),
      ),
    ),
  );
  expect(done[63]).toEqual({ n: 63 });
  expect(turns).toBeLessThan(32);
});

test("a megabyte of a message's text is read; files beyond it are listed by name and size", async () => {
  const file = (name: string, bytes: number) => new File(["x".repeat(bytes)], name, { type: "text/plain" });
  const read = await readAttachments([file("a", 600_000), file("b", 600_000), file("c", 400_000)]);
  const found = read.ok ? read.attachments : [];
  expect(found.map(({ name, sizeBytes, text }) => [name, sizeBytes, text?.length])).toEqual([
    ["a", 600_000, 600_000],
    ["b", 600_000, undefined],
    ["c", 400_000, 400_000],
  ]);
});
