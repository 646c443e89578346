import { z } from "zod";

const id = z.number().int();
const text = z.string().nullish();
const address = z.string().regex(/^https?:\/\//);
const login = z.looseObject({ login: z.string() }).nullish();
const githubIssue = z.looseObject({
  number: id,
  title: z.string(),
  state: z.string(),
  user: login,
  body: text,
  labels: z.array(z.union([z.string(), z.looseObject({ name: text })])),
  assignees: z.array(z.looseObject({ login: z.string() })).nullish(),
});
const githubComment = z.looseObject({ id, created_at: z.string(), user: login, body: text });
/** Of a review comment. */
const line = z.number().nullish();
const githubNote = githubComment.extend({
  html_url: text,
  path: text,
  line,
  original_line: line,
  in_reply_to_id: id.nullish(),
});
const githubPull = z.looseObject({ number: id, html_url: address, title: text, body: text, user: login });
const githubEvent = z.looseObject({
  id,
  event: z.string(),
  created_at: text,
  actor: login,
  label: z.looseObject({ name: text }).nullish(),
  assignee: login,
});
const githubBranch = z.looseObject({ ref: z.string(), sha: z.string() });
const username = z.looseObject({ username: z.string() }).nullish();
const gitlabItem = z.looseObject({
  iid: id,
  title: z.string(),
  state: z.string(),
  description: text,
  author: username,
  labels: z.array(z.string()).nullish(),
  assignees: z.array(z.looseObject({ id, username: z.string() })).nullish(),
});
const gitlabPull = gitlabItem.extend({
  source_project_id: id.nullish(),
  target_project_id: id,
  source_branch: z.string(),
  target_branch: z.string(),
});
const gitlabNote = z.looseObject({
  id,
  created_at: z.string(),
  body: text,
  author: username,
  system: z.boolean().nullish(),
  type: text,
});
const gitlabPosition = z.looseObject({ new_path: text, old_path: text, new_line: line, old_line: line });
const gitlabLineNote = gitlabNote.extend({ position: gitlabPosition.nullish() });
const gitlabAccess = z.looseObject({ access_level: z.number() }).nullish();
const gitlabPermissions = z
  .looseObject({ project_access: gitlabAccess, group_access: gitlabAccess })
  .nullish();
const gitlabLabelEvent = z.looseObject({
  id,
  action: z.string(),
  created_at: z.string(),
  user: username,
  label: z.looseObject({ name: z.string() }).nullish(),
});
const gitlabSaid = gitlabNote.extend({ noteable_type: z.string(), noteable_iid: id.nullish() });
const gitlabNoteEvent = z.looseObject({ note: gitlabSaid.optional() });

export type GitLabItem = z.infer<typeof gitlabItem>;
export type GitLabPull = z.infer<typeof gitlabPull>;
/** Its position, where it is on a line of a merge request. */
export type GitLabNote = z.infer<typeof gitlabLineNote>;
export type GitLabPermissions = z.infer<typeof gitlabPermissions>;
export type GitLabLabelEvent = z.infer<typeof gitlabLabelEvent>;
/** An event "commented on" in the activity of a project. */
export type GitLabNoteEvent = z.infer<typeof gitlabNoteEvent>;

const anyObject = z.looseObject({});
const anyAnswer = z.union([z.looseObject({}), z.array(z.unknown())]);

/** The end of a path, and what is answered there. */
type AnswerShape = readonly [path: RegExp, shape: z.ZodType];

/**
 * The required result of each call of a forge, as far as PicoClaw uses it. The first that fits counts; a call
 * that is not named here must still return JSON.
 */
const SHAPES: Readonly<Record<string, readonly AnswerShape[]>> = {
  GET: [
    // GitHub
    [
      /\/user$/,
      z.union([z.looseObject({ id, login: z.string() }), z.looseObject({ id, username: z.string() })]),
    ],
    [
      /\/repos\/[^/]+\/[^/]+$/,
      z.looseObject({
        full_name: z.string(),
        default_branch: z.string(),
        clone_url: z.string(),
        permissions: anyObject.nullish(),
      }),
    ],
    [/\/repos\/[^/]+\/[^/]+\/issues$/, z.array(githubIssue)],
    [/\/repos\/[^/]+\/[^/]+\/issues\/\d+$/, githubIssue],
    [/\/repos\/[^/]+\/[^/]+\/(?:issues|pulls)(?:\/\d+)?\/comments$/, z.array(githubNote)],
    [/\/repos\/[^/]+\/[^/]+\/issues\/\d+\/events$/, z.array(githubEvent)],
    [/\/repos\/[^/]+\/[^/]+\/pulls$/, z.array(githubPull)],
    [
      /\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/,
      githubPull.extend({
        head: githubBranch.extend({ repo: z.looseObject({ full_name: z.string() }).nullish() }),
        base: z.looseObject({ ref: z.string() }),
      }),
    ],
    [
      /\/repos\/[^/]+\/[^/]+\/branches\/[^/]+$/,
      z.looseObject({ name: z.string(), commit: z.looseObject({ sha: z.string() }) }),
    ],
    [
      /\/repos\/[^/]+\/[^/]+\/git\/trees\//,
      z.looseObject({ tree: z.array(z.looseObject({ type: text, path: z.string().optional() })) }),
    ],
    [/\/collaborators\/[^/]+\/permission$/, z.looseObject({ permission: z.string() })],
    // GitLab
    [
      /\/projects\/[^/]+$/,
      z.looseObject({
        path_with_namespace: z.string(),
        default_branch: text,
        http_url_to_repo: z.string(),
        permissions: gitlabPermissions,
      }),
    ],
    [/\/projects\/[^/]+\/issues\/\d+$/, gitlabItem],
    [/\/projects\/[^/]+\/merge_requests\/\d+$/, gitlabPull],
    [/\/projects\/[^/]+\/(?:issues|merge_requests)$/, z.array(gitlabItem)],
    [/\/(?:issues|merge_requests)\/\d+\/notes$/, z.array(gitlabNote)],
    [
      /\/(?:issues|merge_requests)\/\d+\/discussions$/,
      z.array(z.looseObject({ id: z.string(), notes: z.array(gitlabLineNote).nullish() })),
    ],
    [/\/(?:issues|merge_requests)\/\d+\/resource_label_events$/, z.array(gitlabLabelEvent)],
    [
      /\/projects\/[^/]+\/members\/all$/,
      z.array(z.looseObject({ username: z.string(), access_level: z.number() })),
    ],
    [/\/projects\/[^/]+\/events$/, z.array(gitlabNoteEvent)],
    [/\/repository\/tree$/, z.array(z.looseObject({ type: z.string(), path: z.string() }))],
    [
      /\/repository\/branches\/[^/]+$/,
      z.looseObject({ name: z.string(), commit: z.looseObject({ id: z.string() }) }),
    ],
  ],
  POST: [
    [/\/repos\/[^/]+\/[^/]+\/issues\/\d+\/comments$/, githubComment],
    [/\/repos\/[^/]+\/[^/]+\/pulls$/, githubPull],
    [/\/(?:issues|merge_requests)\/\d+\/notes$/, gitlabNote],
    [/\/projects\/[^/]+\/merge_requests$/, z.looseObject({ iid: id, web_url: z.string() })],
  ],
  PATCH: [
    [/\/repos\/[^/]+\/[^/]+\/issues\/comments\/\d+$/, githubComment],
    [/\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/, githubPull],
  ],
  PUT: [
    [/\/(?:issues|merge_requests)\/\d+\/notes\/\d+$/, gitlabNote],
    [/\/projects\/[^/]+\/merge_requests\/\d+$/, z.looseObject({ iid: id, web_url: z.string() })],
  ],
};

/** Why a 2xx answer is not the forge's; null where it is. An empty body is an answer to a write. */
export function findShapeTrouble(method: string, pathname: string, body: string): string | null {
  if (body.trim() === "") return method === "GET" ? "nothing" : null;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return "no JSON";
  }
  const wanted = SHAPES[method]?.find(([path]) => path.test(pathname))?.[1] ?? anyAnswer;
  const read = wanted.safeParse(value);
  if (read.success) return null;
  const [issue] = read.error.issues;
  return issue === undefined ? "another shape" : `${issue.path.join(".") || "it"}: ${issue.message}`;
}
