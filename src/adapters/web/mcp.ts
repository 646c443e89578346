import { isOurOrigin } from "./guard.ts";
import { viewerOfToken } from "./visitor.ts";
import type { Web } from "./web.ts";

/** MCP with the API's tokens. The tools see the whole workspace and every job: that is for operators. */
export async function answerMcp(web: Web, request: Request): Promise<Response> {
  const viewer = await viewerOfToken(web, request);
  const refuse = (status: number, message: string, headers: Record<string, string> = {}) =>
    Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
  if (viewer === null)
    return refuse(401, "Unauthorized: send a token with the scope mcp", { "www-authenticate": "Bearer" });
  if (viewer.role !== "operator" || !viewer.scopes.includes("mcp"))
    return refuse(403, "Forbidden: an operator's token with the scope mcp is needed");
  if (!isOurOrigin(request)) return refuse(403, "Forbidden: the Origin is not this server");
  return (await web.host.mcp())(request);
}
