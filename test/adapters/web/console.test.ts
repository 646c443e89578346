/** Every page in a real Chromium: both languages, both appearances, a desk and a phone, and nothing that axe calls serious. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { requirePart, runs } from "../../require.ts";
import { createServer, type Server } from "./web-kit.ts";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SIZES = { desk: { width: 1280, height: 820 }, phone: { width: 390, height: 780 } } as const;

if (requirePart("chromium") && requirePart("bwrap"))
  describe("the console in a browser", () => {
    let server: Server;
    let browser: Browser;
    let desk: BrowserContext;
    let page: Page;
    let jobId = "";
    const trouble: string[] = [];
    const elsewhere: string[] = [];

    beforeAll(async () => {
      server = await createServer({ args: ["--demo"] });
      browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
      // With reduced motion the page draws no animation frames.
      desk = await browser.newContext({ viewport: SIZES.desk, locale: "en", reducedMotion: "reduce" });
      page = await desk.newPage();
      page.on("pageerror", (error) => trouble.push(error.message));
      page.on("console", (message) => {
        // A refused patch is answered with 422, which the browser notes.
        if (message.type() === "error" && !/ 422 /.test(message.text())) trouble.push(message.text());
      });
      page.on("request", (request) => {
        if (new URL(request.url()).origin !== server.url) elsewhere.push(request.url());
      });
      page.on("dialog", (dialog) => {
        trouble.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.goto(server.login);
      await page.getByRole("button").click();
      await page.waitForURL("**/chat**");
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    const settled = () => page.waitForSelector(".log:has(.exchange):not(:has(.pending))");

    test("a message is typed, watched and answered without a reload", async () => {
      expect(new URL(page.url()).pathname).toBe("/chat/operator");
      await page.evaluate("window.same = true");
      await page.fill("#text", "What can you do?");
      await page.press("#text", "Enter");
      await page.waitForSelector(".pending");
      await settled();
      expect(await page.textContent(".reply .text")).toContain("/undo");
      expect(await page.evaluate("'same' in window")).toBe(true);
      expect(await page.inputValue("#text")).toBe("");
    }, 300_000);

    test("a change is carried out, shown with its difference, undone and redone", async () => {
      await page.fill("#text", "/code3 write a test for greet");
      await page.press("#text", "Enter");
      await page.waitForSelector(".job-card .diff");
      expect(await page.textContent(".job-card header")).toContain("write a test for greet");
      expect(await page.textContent(".job-card .counts")).toMatch(/\+\d+ −\d+/);
      expect(await page.locator(".job-card tr.added").count()).toBe(0);
      await page.click(".job-card .diff summary");
      await page.waitForSelector(".job-card tr.added");
      await page.click(".job-card button:has-text('Undo')");
      await page.waitForSelector(".job-card .state.taken-back");
      // An unfolded part stays unfolded when the page is drawn again.
      await page.waitForSelector(".job-card tr.added");
      await page.click(".job-card button:has-text('Redo')");
      await page.waitForSelector(".job-card .state.applied");
      await page.click(".job-card .title");
      await page.waitForSelector("#changes");
      jobId = new URL(page.url()).pathname.split("/")[2] ?? "";
      expect(await page.textContent("#changes")).toContain("test_greet.py");
      expect(await page.locator("tr.added mark").count()).toBeGreaterThan(0);
      await page.click("text=Side by side");
      expect(await page.locator("table.split").count()).toBe(2);
      await page.click("button:has-text('Undo')");
      await page.waitForSelector(".notice.good");
      expect(await page.textContent("#head")).toContain("Undone");
      await page.click("button:has-text('Redo')");
      await page.waitForSelector("button:has-text('Undo')");
    }, 300_000);

    test("a slash offers the commands, and a chip is sent when it is pressed", async () => {
      await page.goto(`${server.url}/chat/operator.chips`);
      await page.fill("#text", "/re");
      expect(await page.locator("#commands li:visible").allTextContents()).toEqual(
        expect.arrayContaining([expect.stringContaining("/redo"), expect.stringContaining("/research")]),
      );
      await page.press("#text", "ArrowDown");
      await page.press("#text", "Enter");
      expect(await page.inputValue("#text")).toMatch(/^\/re\w+ $/);
      expect(await page.isVisible("#commands")).toBe(false);
      await page.fill("#text", "");
      // The example that takes the least work.
      await page.click('.examples button:has-text("oops")');
      await page.waitForSelector(".bubble");
      await settled();
    }, 300_000);

    test("the playground reads, previews and applies a patch of any of the five formats", async () => {
      for (const example of ["json", "markdown", "diff", "v4a", "search-replace"]) {
        await page.goto(`${server.url}/playground`);
        await page.click(`a.chip:has-text("${example}")`);
        await page.click("button[value=parse]");
        expect(await page.locator(".commands > li").count()).toBeGreaterThan(0);
        await page.click("button[value=preview]");
        await page.waitForSelector("button:has-text('Apply exactly this')");
        await page.click("button:has-text('Apply exactly this')");
        await page.waitForSelector(".notice.good");
      }
      await page.goto(`${server.url}/playground`);
      await page.fill("#patch", "no patch at all");
      await page.click("button[value=apply]");
      expect(await page.textContent(".notice.bad")).toContain("This is not a patch");
    }, 300_000);

    test("output of a running job is seen while it runs, and the job can be stopped", async () => {
      await page.goto(`${server.url}/playground`);
      await page.fill(
        "#patch",
        JSON.stringify([
          {
            type: "shell_command",
            action: "run",
            target: "for i in 1 2 3; do echo tick $i; sleep 0.2; done; sleep 60",
          },
        ]),
      );
      const other = await desk.newPage();
      const posted = page.click("button[value=apply]", { noWaitAfter: true }).catch(() => {});
      await other.goto(`${server.url}/jobs`);
      await other.click(".row:has(.state.running)");
      await other.waitForSelector('[data-output]:has-text("tick 3")');
      expect(await other.textContent("#head")).not.toContain("Rolled back");
      await other.click("button:has-text('Stop')");
      await other.waitForSelector('#head:has-text("Stopped, nothing changed")');
      await posted;
      await page.goto(`${server.url}/jobs`);
      expect(await page.locator(".state.running").count()).toBe(0);
      await other.close();
    }, 300_000);

    test("a file that is attached is read with the message", async () => {
      await page.goto(`${server.url}/chat/operator.files`);
      const note = { name: "notes <b>.txt", mimeType: "text/plain", buffer: Buffer.from("what can you do?") };
      await page.setInputFiles("[type=file]", [
        note,
        { ...note, name: "x.bin", buffer: Buffer.from([0, 1]) },
      ]);
      await page.click(".composer button");
      await page.waitForSelector(".file");
      await settled();
      expect(await page.textContent(".said")).toContain("notes <b>.txt");
      expect(await page.textContent(".reply .text")).toContain("/undo");
    }, 300_000);

    test("hostile texts run nothing", async () => {
      await page.goto(`${server.url}/chat/operator`);
      await page.fill(
        "#text",
        `<img src=x onerror="alert(1)"><script>alert(2)</script> \`<svg onload=alert(3)>\``,
      );
      await page.press("#text", "Enter");
      await settled();
      await page.goto(`${server.url}/sessions`);
      expect(trouble).toEqual([]);
    }, 300_000);

    test("the keyboard reaches what the mouse does", async () => {
      await page.goto(`${server.url}/jobs`);
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
      await page.keyboard.press("Enter");
      await page.waitForFunction(`location.hash === "#content"`);
      for (let n = 0; n < 12 && !(await page.evaluate(`document.activeElement.matches("a.row")`)); n += 1)
        await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".timeline");
    }, 300_000);

    const paths = () => [
      "/chat/operator",
      "/chat/operator.empty",
      "/jobs",
      `/jobs/${jobId}`,
      `/jobs/${jobId}?view=split`,
      "/playground?example=json",
      "/tasks",
      "/sessions",
      "/usage",
      "/manage",
      "/manage/settings",
      "/system",
      "/nothing",
    ];

    // By day axe looks at a page twice, the second time with every setting the other way, and the pages take turns;
    // by night it looks at all eight. Dark is another set of colours, which only axe can judge: by day a dark page that
    // it does not look at is left out.
    const judged = (lang: string, theme: string, size: string, turn: number) => {
      const settings = (lang === "ja" ? 1 : 0) + (theme === "dark" ? 2 : 0) + (size === "phone" ? 4 : 0);
      return runs(1) > 1 || Math.min(settings, 7 - settings) === turn % 4;
    };

    /** One page for all eight: a new one costs more than the pages that it shows. */
    let looked: { readonly context: BrowserContext; readonly view: Page } | undefined;
    const looking = async () => {
      if (looked !== undefined) return looked;
      const context = await browser.newContext({
        storageState: await desk.storageState(),
        bypassCSP: true,
        reducedMotion: "reduce",
      });
      looked = { context, view: await context.newPage() };
      return looked;
    };

    for (const lang of ["en", "ja"] as const)
      for (const theme of ["light", "dark"] as const)
        for (const size of ["desk", "phone"] as const)
          test(`every page in ${lang}, ${theme}, at a ${size}`, async () => {
            const { context, view } = await looking();
            await view.setViewportSize(SIZES[size]);
            await view.emulateMedia({ colorScheme: theme });
            const host = new URL(server.url).hostname;
            await context.addCookies([
              { name: "picoclaw_lang", value: lang, domain: host, path: "/" },
              { name: "picoclaw_theme", value: theme, domain: host, path: "/" },
            ]);
            for (const [turn, path] of paths().entries()) {
              if (theme === "dark" && !judged(lang, theme, size, turn)) continue;
              await view.goto(`${server.url}${path}`, { waitUntil: "domcontentloaded" });
              expect([path, await view.getAttribute("html", "lang")]).toEqual([path, lang]);
              const wide = await view.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
              expect([path, wide <= 0]).toEqual([path, true]);
              if (!judged(lang, theme, size, turn)) continue;
              await view.evaluate(AXE);
              const { violations } = await view.evaluate<{ violations: Violation[] }>(
                "axe.run({ resultTypes: ['violations'] })",
              );
              const found = violations
                .filter(({ impact }) => impact === "serious" || impact === "critical")
                .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`.slice(0, 600));
              expect([path, found]).toEqual([path, []]);
            }
          }, 300_000);

    test("pages read without JavaScript, and a message can be sent", async () => {
      const context = await browser.newContext({
        javaScriptEnabled: false,
        storageState: await desk.storageState(),
      });
      const plain = await context.newPage();
      await plain.goto(`${server.url}/chat/operator.plain`);
      await plain.fill("#text", "without a script");
      await plain.click(".composer button");
      expect(await plain.textContent(".bubble")).toBe("without a script");
      await plain.goto(`${server.url}/jobs/${jobId}`);
      expect(await plain.locator(".diff tr.added").count()).toBeGreaterThan(0);
      await context.close();
    }, 300_000);

    test("the first page of the console is small, and requests nothing from other hosts", async () => {
      const context = await browser.newContext({ storageState: await desk.storageState() });
      const fresh = await context.newPage();
      const bodies: Promise<number>[] = [];
      // A stream of events has no end to wait for.
      fresh.on("response", (response) => {
        if (response.headers()["content-type"]?.startsWith("text/event-stream")) return;
        bodies.push(
          response
            .finished()
            .then(() => response.request().sizes())
            .then(
              ({ responseBodySize }) => responseBodySize,
              () => 0,
            ),
        );
      });
      await fresh.goto(`${server.url}/chat/operator`, { waitUntil: "load" });
      const bytes = (await Promise.all(bodies)).reduce((sum, each) => sum + each, 0);
      expect(bytes).toBeGreaterThan(5_000);
      expect(bytes).toBeLessThan(60 * 1024);
      expect(elsewhere).toEqual([]);
      expect(trouble).toEqual([]);
      await context.close();
    }, 300_000);
  });

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}
