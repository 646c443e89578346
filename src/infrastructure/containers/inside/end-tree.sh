# Ends what was started below the process whose id is in the file $1, with signal $2. Shell builtins only: a full
# pids.max must not stop it.
read -r root <"$1" || exit 3
living() {
  list=
  for folder in /proc/[0-9]*; do
    { read -r line <"$folder/stat"; } 2>/dev/null || continue
    rest=${line##*) }
    state=${rest%% *}
    rest=${rest#* }
    list="$list ${folder#/proc/}:${rest%% *}:$state"
  done
  found= known=" $root " again=1
  while [ -n "$again" ]; do
    again=
    for each in $list; do
      pid=${each%%:*} rest=${each#*:}
      case $known in *" $pid "*) continue ;; esac
      case $known in *" ${rest%%:*} "*) ;; *) continue ;; esac
      known="$known$pid " again=1
      [ "${rest#*:}" = Z ] || found="$found $pid"
    done
  done
}
# The process at the root would leave with the command, and what ignores TERM would be out of reach.
if [ "$2" = TERM ]; then
  kill -STOP "$root"
  living
  [ -z "$found" ] || kill -TERM $found 2>/dev/null
  exit 0
fi
round=0
while [ "$round" -lt 500 ]; do
  living
  if [ -z "$found" ]; then
    kill -CONT "$root"
    exit 0
  fi
  kill -STOP $found 2>/dev/null
  kill -KILL $found 2>/dev/null
  round=$((round + 1))
done
exit 1
