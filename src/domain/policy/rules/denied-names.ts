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
  ...Object.entries(DENIED).map(([id, names]) => ({
    id: id as NameRuleId,
    // mkfs.ext4, mkfs.vfat …
    matches: ({ name }: Call) => names.split(" ").includes(name.split(".", 1)[0] ?? ""),
  })),
  {
    id: "kill",
    programs: ["kill", "killall", "pkill", "skill"],
    matches: (call) => call.name !== "kill" || !endsOwnChildren(call),
  },
];

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
