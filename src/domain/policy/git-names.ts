/** Names that mean something in a git directory; every other path is passed over without a look. */
const MEANS_SOMETHING =
  /(?:^|\/)(?:hooks(?:\/.*)?|(?:remotes|branches)(?:\/.*)?|(?:rebase-merge\/git-rebase-todo|sequencer\/todo)|(?:config|config\.worktree|commondir|HEAD|objects|refs))$/i;

export function mayMatterToGit(path: string): boolean {
  return MEANS_SOMETHING.test(path);
}
