import type { Viewer } from "../../application/inbox/viewer.ts";
import type { Web } from "./web.ts";

/** Who a program with a bearer token is; null without one, or with one that is not known. */
export async function viewerOfToken(
  { signIn }: Pick<Web, "signIn">,
  request: Request,
): Promise<Viewer | null> {
  const given = /^Bearer +(\S{10,200}) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  return given === undefined ? null : signIn.token(given);
}
