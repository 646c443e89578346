import { isLocale } from "../../domain/texts/locale.ts";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import { preferenceCookie, sessionCookie } from "./visitor.ts";
import type { Web, WebApp } from "./web.ts";

/** How one looks at the console, and the end of one's session. */
export function preferenceRoutes(app: WebApp, web: Web): void {
  const { host } = web;
  app.post("/preferences", (c) => {
    const { form } = c.var;
    const back = form.get("back") ?? "/";
    const response = c.redirect(/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(back) ? back : "/", 303);
    const [lang, theme] = [form.get("lang"), form.get("theme")];
    if (lang !== null && isLocale(lang))
      response.headers.append("set-cookie", preferenceCookie(host.place(), "lang", lang));
    if (theme === "auto" || theme === "light" || theme === "dark")
      response.headers.append("set-cookie", preferenceCookie(host.place(), "theme", theme));
    return response;
  });
  app.post("/logout", async (c) => {
    await web.signIn.closeSession(c.var.person.secret);
    web.streams.endSession(c.var.person.session.hash);
    const t = consoleMessagesFor(c.var.page.t.locale);
    return c.text(`${t.logout}\n`, 303, {
      location: "/",
      "set-cookie": sessionCookie(host.place(), null),
      "clear-site-data": '"cache"',
    });
  });
}
