/**
 * The pictures of the documentation, taken as a visitor of the demo sees them. TEST_TAKE_PICTURES=1 writes them to
 * docs/images; by night they are only taken, so that what they show is there to be shown.
 */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { createServer } from "../adapters/web/web-kit.ts";
import { requirePart, runs } from "../require.ts";

const scratch = mkdtempSync(join(tmpdir(), "picoclaw-pictures-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const isWanted = process.env.TEST_TAKE_PICTURES === "1";
const place = isWanted ? join(import.meta.dir, "../../docs/images") : scratch;

if ((isWanted || runs(1) > 1) && requirePart("chromium") && requirePart("bwrap"))
  test("the pictures of the documentation can be taken", async () => {
    const server = await createServer({ args: ["--demo"] });
    const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
    try {
      const desk = await browser.newContext({ viewport: { width: 1180, height: 760 }, locale: "en" });
      const page = await desk.newPage();
      await page.goto(server.login);
      await page.getByRole("button").click();
      await page.waitForURL("**/chat/**");
      await page.fill("#text", "Fix the failing test");
      await page.press("#text", "Enter");
      await page.waitForSelector(".pending");
      await page.waitForSelector(".log:has(.exchange):not(:has(.pending))", { timeout: 280_000 });
      await take(page, "console-chat");
      const [job = ""] = await page
        .locator("a[href^='/jobs/']")
        .evaluateAll((links) => links.map((link) => (link as unknown as { href: string }).href));
      await page.goto(job);
      await page.waitForSelector("h1");
      await take(page, "console-job");
      const phone = await browser.newContext({
        viewport: { width: 390, height: 760 },
        locale: "ja",
        colorScheme: "dark",
        storageState: await desk.storageState(),
      });
      const small = await phone.newPage();
      await small.goto(job);
      await small.waitForSelector("h1");
      await take(small, "console-phone");
    } finally {
      await browser.close();
      await server.close();
    }
  }, 300_000);

async function take(page: Page, name: string): Promise<void> {
  const path = join(place, `${name}.png`);
  await page.screenshot({ path });
  expect(Bun.file(path).size).toBeGreaterThan(10_000);
}
