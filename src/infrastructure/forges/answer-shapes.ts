import { z } from "zod";

const id = z.number().int();
const login = z.looseObject({ login: z.string() }).nullish();
const githubIssue = z.looseObject({ number: id, title: z.string(), state: z.string(), user: login });
const githubComment = z.looseObject({ id, created_at: z.string(), user: login });
const githubPull = z.looseObject({ number: id, html_url: z.string() });
const githubUsers = z.array(z.looseObject({}));
const gitlabItem = z.looseObject({ iid: id, title: z.string(), state: z.string() });
const gitlabNote = z.looseObject({ id, created_at: z.string() });
const anyObject = z.looseObject({});
const anyAnswer = z.union([z.looseObject({}), z.array(z.unknown())]);

interface AnswerShape {
  readonly method: string;
  /** The end of the path. */
  readonly path: RegExp;
  readonly shape: z.ZodType;
}

const shape = (method: string, path: RegExp, of: z.ZodType): AnswerShape => ({ method, path, shape: of });

/**
 * The required result of each call of a forge, as far as PicoClaw uses it. The first that fits counts; a call
 * that is not named here must still return JSON.
 */
const SHAPES: readonly AnswerShape[] = [
  // GitHub
  shape(
    "GET",
    /\/user$/,
    z.union([z.looseObject({ id, login: z.string() }), z.looseObject({ id, username: z.string() })]),
  ),
  shape(
    "GET",
    /\/repos\/[^/]+\/[^/]+$/,
    z.looseObject({ full_name: z.string(), default_branch: z.string(), clone_url: z.string() }),
  ),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/issues$/, z.array(githubIssue)),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/issues\/\d+$/, githubIssue),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/(?:issues|pulls)(?:\/\d+)?\/comments$/, z.array(githubComment)),
  shape("POST", /\/repos\/[^/]+\/[^/]+\/issues\/\d+\/comments$/, githubComment),
  shape("PATCH", /\/repos\/[^/]+\/[^/]+\/issues\/comments\/\d+$/, githubComment),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/issues\/\d+\/events$/, githubUsers),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/pulls$/, z.array(githubPull)),
  shape("POST", /\/repos\/[^/]+\/[^/]+\/pulls$/, githubPull),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/, githubPull),
  shape("PATCH", /\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/, githubPull),
  shape(
    "GET",
    /\/repos\/[^/]+\/[^/]+\/branches\/[^/]+$/,
    z.looseObject({ name: z.string(), commit: z.looseObject({ sha: z.string() }) }),
  ),
  shape("GET", /\/repos\/[^/]+\/[^/]+\/git\/trees\//, z.looseObject({ tree: z.array(anyObject) })),
  shape("GET", /\/check-runs$/, z.looseObject({ check_runs: z.array(anyObject) })),
  // GitLab
  shape(
    "GET",
    /\/projects\/[^/]+$/,
    z.looseObject({ path_with_namespace: z.string(), default_branch: z.string().nullish() }),
  ),
  shape("GET", /\/projects\/[^/]+\/(?:issues|merge_requests)\/\d+$/, gitlabItem),
  shape("GET", /\/projects\/[^/]+\/(?:issues|merge_requests)$/, z.array(gitlabItem)),
  shape("GET", /\/(?:issues|merge_requests)\/\d+\/(?:notes|discussions)$/, z.array(anyObject)),
  shape("POST", /\/(?:issues|merge_requests)\/\d+\/notes$/, gitlabNote),
  shape("PUT", /\/(?:issues|merge_requests)\/\d+\/notes\/\d+$/, gitlabNote),
  shape("POST", /\/projects\/[^/]+\/merge_requests$/, z.looseObject({ iid: id, web_url: z.string() })),
  shape("PUT", /\/projects\/[^/]+\/merge_requests\/\d+$/, z.looseObject({ iid: id, web_url: z.string() })),
  shape(
    "GET",
    /\/repository\/branches\/[^/]+$/,
    z.looseObject({ name: z.string(), commit: z.looseObject({ id: z.string() }) }),
  ),
];

/** Why a 2xx answer is not the forge's; null where it is. An empty body is an answer to a write. */
export function findShapeTrouble(method: string, pathname: string, body: string): string | null {
  if (body.trim() === "") return method === "GET" ? "nothing" : null;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return "no JSON";
  }
  const wanted = SHAPES.find((one) => one.method === method && one.path.test(pathname))?.shape ?? anyAnswer;
  const read = wanted.safeParse(value);
  if (read.success) return null;
  const [issue] = read.error.issues;
  return issue === undefined ? "another shape" : `${issue.path.join(".") || "it"}: ${issue.message}`;
}
