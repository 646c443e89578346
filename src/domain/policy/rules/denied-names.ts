import { type Call, type CommandRule, type NameRuleId, operandsOf } from "./command-rule.ts";

/** The denied programs, with their other names. */
const DENIED: Readonly<Record<Exclude<NameRuleId, "kill">, string>> = {
  sudo: "sudo doas pkexec run0",
  su: "su runuser login",
  chown: "chown chgrp",
  mount: "mount umount losetup pivot_root chroot unshare nsenter",
  iptables: "iptables ip6tables iptables-restore nft ufw ip6tables-restore",
  systemctl: "systemctl service init telinit",
  reboot: "reboot shutdown halt poweroff",
  dd: "dd",
  mkfs: "mkfs mke2fs mkswap",
  fdisk: "fdisk sfdisk cfdisk parted gdisk sgdisk",
  nc: "nc netcat ncat socat telnet",
  nmap: "nmap masscan",
  ssh: "ssh sshpass autossh mosh",
  rsync: "scp rsync sftp rclone",
};

export const DENIED_NAMES: readonly CommandRule[] = [
  ...Object.entries(DENIED).map(([id, names]) => denied(id as NameRuleId, names.split(" "))),
  {
    id: "kill",
    programs: ["kill", "killall", "pkill", "skill"],
    matches: (call) => call.name !== "kill" || !endsOwnChildren(call),
    match: ["kill 1", "kill -9 -1", "killall node", "pkill -f x", "kill $PID", "kill", "env kill 4"],
    notMatch: [
      "kill %1",
      "npm start & kill $!",
      'npm start & server=$!; npm test; kill "$server"',
      "kill -0 $!",
      "kill -l",
    ],
  },
];

function denied(id: NameRuleId, names: string[]): CommandRule {
  const [name] = names;
  return {
    id,
    // mkfs.ext4, mkfs.vfat …
    matches: (call) => names.includes(call.name.split(".", 1)[0] ?? ""),
    match: [
      `${name} x`,
      `/usr/sbin/${name} x`,
      `'${name}' x`,
      `ls && (\\${name} x)`,
      `echo $(${name} x)`,
      `env A=1 timeout 5 ${name} x`,
      `bash -c '${name} x'`,
      `find . -exec ${name} {} \\;`,
      `ls | xargs ${name}`,
      `cat <<E\n\`${name} x\`\nE`,
      `${name}() { ls; }; ${name} x`,
      `if true; then eval "${name} x"; fi`,
      `./${name}`,
    ],
    notMatch: [
      `echo ${name}`,
      `grep -r '${name} x' .`,
      `ls # ${name}`,
      `cat <<'E'\n$(${name} x)\nE`,
      `ls ${name}/`,
    ],
  };
}

/** `%1`, `$!`, and variables that this script set from `$!`. */
function endsOwnChildren({ args, script }: Call): boolean {
  const targets = operandsOf(args);
  if (targets.length === 0) return args.some((word) => word.value === "-l" || word.value === "-L");
  const own = new Set(
    script.commands
      .flatMap((command) => command.assignments)
      .filter((assignment) => /^"?\$!"?$/.test(assignment.value.text))
      .map((assignment) => assignment.name),
  );
  return targets.every(({ text }) => {
    if (/^%[\w+-]*$/.test(text) || /^"?\$!"?$/.test(text)) return true;
    const variable = /^"?\$\{?(\w+)\}?"?$/.exec(text)?.[1];
    return variable !== undefined && own.has(variable);
  });
}
