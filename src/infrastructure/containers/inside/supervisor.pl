# Runs commands for one client: frames on standard input and output.
#
# Each command gets a guard: a child that is a sub-reaper, so that everything the command starts stays below it,
# even if it is detached. The guard waits for the command, and ends the whole tree when told to (USR1) or when this
# process dies. It never forks to do so: a full pids.max cannot stop it. A command's background processes outlive it
# below their guard, which then keeps draining their output, or they would block or die of SIGPIPE.
#
# Forking is what a command costs. Guards are therefore made while nothing happens, each with a child that waits to
# become the command; that also leaves room to act when all other processes of the container are used up.
#
# Frames,
#   in:  S start (list: head, tail, has input, input, rest: list of cwd, roots, has input, env count, env…, argv…)
#        K end its tree (grace in ms)
#        P list background processes   Q end one with its descendants (pid)
#   out: o e output   O E how much was cut here of a stream that was too long
#        x ended (kind, wait status, errno, OOM kills, refused forks, then pid and command of what is left)
#        p processes   q answer to Q   h hello
use POSIX ();

my ($PRCTL) = (POSIX::uname())[4] =~ /^(?:aarch64|riscv64)/ ? (167) : (157);
my ($SUBREAPER, $DEATH_SIGNAL) = (36, 1);
my ($EXITED, $NO_CWD, $OUTSIDE, $NO_PROGRAM, $NO_FORK, $LOST) = (0 .. 5);
# Commands and guards by the serial number of the guard; clients know ids.
my (%command, %guard, %serial_of, @spares);
my ($serials, $SPARES, $IDLE) = (0, 2, 0.002);
$SIG{PIPE} = 'IGNORE';
# Guards are born with it blocked, and let it through once they can handle it.
my $USR1 = POSIX::SigSet->new(POSIX::SIGUSR1());
POSIX::sigprocmask(POSIX::SIG_BLOCK(), $USR1);
syscall($PRCTL, $SUBREAPER, 1, 0, 0, 0);
binmode STDIN; binmode STDOUT;
pipe(my $status_in, my $status_out) or die;

sub nonblocking { fcntl($_[0], F_SETFL, fcntl($_[0], F_GETFL, 0) | O_NONBLOCK) }
sub first_line { open(my $file, '<', $_[0]) or return ''; local $/; my $text = <$file>; defined $text ? $text : '' }
sub counters {
  my $oom = first_line('/sys/fs/cgroup/memory.events') || first_line('/sys/fs/cgroup/memory/memory.oom_control');
  my $pids = first_line('/sys/fs/cgroup/pids.events') || first_line('/sys/fs/cgroup/pids/pids.events');
  return ($oom =~ /^oom_kill (\d+)/m ? "$1" : 0, $pids =~ /^max (\d+)/m ? "$1" : 0);
}

# Living descendants of a process, by one walk over /proc.
sub descendants {
  my ($root, $skip) = @_;
  opendir(my $proc, '/proc') or return ();
  my %children;
  for my $pid (grep { /^\d+$/ } readdir $proc) {
    open(my $file, '<', "/proc/$pid/stat") or next;
    my $stat = <$file>;
    next unless defined $stat && $stat =~ /.*\) (\S) (\d+)/s;
    push @{ $children{$2} }, [$pid, $1];
  }
  my @found; my @todo = ($root);
  while (defined(my $parent = shift @todo)) {
    for my $child (@{ $children{$parent} || [] }) {
      next if $skip && $skip->{ $child->[0] };
      push @todo, $child->[0];
      push @found, $child->[0] unless $child->[1] eq 'Z';
    }
  }
  return @found;
}
sub ticks { (POSIX::times())[0] * 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK()) }
sub end_tree {
  my ($below, $grace, $reap, $skip) = @_;
  my $deadline = ticks() + $grace;
  my @alive = $below->();
  kill TERM => @alive; kill CONT => @alive;
  while (@alive && ticks() < $deadline) { select(undef, undef, undef, 0.01); $reap->(); @alive = $below->() }
  $deadline = ticks() + 5_000;
  while (@alive && ticks() < $deadline) {
    kill STOP => @alive; kill KILL => @alive;
    select(undef, undef, undef, 0.002); $reap->();
    @alive = $below->();
  }
}

# The guard of one command; never returns. Its child waits for the command, then becomes it.
sub guard {
  my ($serial, $spare, $supervisor) = @_;
  my ($leader, $leader_status, $ending, $reported) = (0, undef, 0, 0);
  my $reap = sub { while ((my $pid = waitpid(-1, POSIX::WNOHANG())) > 0) { $leader_status = $? if $pid == $leader } };
  my $finish = sub {
    my ($kind, $status, $errno) = @_;
    return if $reported++;
    my $more = waitpid(-1, POSIX::WNOHANG()) != -1;
    syswrite($status_out, pack('N5', $serial, $kind, $status, $errno, $more ? 1 : 0));
  };
  $SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT USR2);
  # Told to end the tree, or our parent died.
  $SIG{USR1} = sub {
    return if $ending++;
    my $orphaned = getppid() != $supervisor;
    drain($spare->{out}[0], $spare->{err}[0]) if $orphaned && $reported;
    my $grace = 500;
    my $bytes;
    $grace = unpack('N', $bytes) if !$orphaned && sysread($spare->{ctl}[0], $bytes, 4);
    end_tree(sub { descendants($$) }, $grace, $reap);
    $reap->();
    $finish->($EXITED, defined $leader_status ? $leader_status : 9, 0);
    POSIX::_exit(0);
  };
  syscall($PRCTL, $SUBREAPER, 1, 0, 0, 0);
  syscall($PRCTL, $DEATH_SIGNAL, POSIX::SIGUSR1(), 0, 0, 0);
  kill USR1 => $$ if getppid() != $supervisor;
  pipe(my $told_in, my $told_out) or POSIX::_exit(1);
  $leader = fork;
  if (!defined $leader) { $finish->($NO_FORK, 0, $! + 0); POSIX::_exit(0) }
  if ($leader == 0) { lead($spare, $told_out) }
  close $_ for $spare->{out}[1], $spare->{err}[1], $spare->{in}[0], $spare->{tell}[0], $told_out;
  POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), $USR1);
  my ($n, $told);
  1 until defined($n = sysread($told_in, $told, 8));
  if ($n == 8) {
    my ($kind, $errno) = unpack('N2', $told);
    waitpid($leader, 0); $finish->($kind, 0, $errno); POSIX::_exit(0);
  }
  close $told_in;
  while ((my $pid = waitpid(-1, 0)) > 0) {
    next unless $pid == $leader;
    $leader_status = $?;
    $finish->($EXITED, $leader_status, 0);
  }
  POSIX::_exit(0);
}
sub drain {
  my @pipes = @_;
  while (1) {
    1 while waitpid(-1, POSIX::WNOHANG()) > 0;
    POSIX::_exit(0) if waitpid(-1, POSIX::WNOHANG()) == -1;
    my $want = ''; vec($want, fileno $_, 1) = 1 for @pipes;
    select($want, undef, undef, 1) > 0 or next;
    @pipes = grep { !vec($want, fileno $_, 1) || sysread($_, my $gone, 65536) } @pipes;
  }
}

# Waits for the command and becomes it.
sub lead {
  my ($spare, $told) = @_;
  my $fail = sub { syswrite($told, pack('N2', $_[0], $! + 0)); POSIX::_exit(127) };
  close $_ for $spare->{out}[0], $spare->{err}[0], $spare->{ctl}[0];
  POSIX::setsid();
  $SIG{$_} = 'DEFAULT' for qw(TERM INT HUP QUIT USR1 USR2 PIPE CHLD);
  # When memory runs out, the kernel takes the command before it takes its guard.
  if (open(my $score, '>', '/proc/self/oom_score_adj')) { print {$score} 500; close $score }
  POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), $USR1);
  POSIX::dup2(fileno $spare->{out}[1], 1); POSIX::dup2(fileno $spare->{err}[1], 2);
  my $text = '';
  while (length $text < 4 || length $text < 4 + unpack('N', $text)) {
    my $n = sysread($spare->{tell}[0], $text, 65536, length $text);
    POSIX::_exit(0) if defined $n ? $n == 0 : !$!{EINTR};
  }
  my ($cwd, $roots, $has_input, $count, @rest) = unpack('x4 (N/a*)*', $text);
  if ($has_input) { POSIX::dup2(fileno $spare->{in}[0], 0) }
  else { open(my $null, '<', '/dev/null') or $fail->($NO_PROGRAM); POSIX::dup2(fileno $null, 0) }
  chdir $cwd or $fail->($NO_CWD);
  my $here = POSIX::getcwd() // '';
  $! = 0;
  grep { $here eq $_ || index($here, "$_/") == 0 || $_ eq '/' } split(/\0/, $roots) or $fail->($OUTSIDE);
  for my $pair (splice @rest, 0, $count) { my ($name, $value) = split /=/, $pair, 2; $ENV{$name} = $value }
  $ENV{PWD} = $here;
  { no warnings; exec { $rest[0] } @rest }
  $fail->($NO_PROGRAM);
}

sub make_spare {
  my %pipes; my $serial = ++$serials;
  for my $name (qw(out err in ctl tell)) { pipe(my $read, my $write) or return undef; $pipes{$name} = [$read, $write] }
  my $supervisor = $$;
  my $guard = fork;
  return undef unless defined $guard;
  if ($guard == 0) {
    close STDIN; close STDOUT; close $status_in;
    for my $other (values(%command), @spares) { close $_ for grep { defined } @$other{qw(out err in ctl tell)} }
    close $pipes{$_}[1] for qw(in ctl tell);
    open(STDIN, '<', '/dev/null'); open(STDOUT, '>', '/dev/null'); open(STDERR, '>', '/dev/null');
    guard($serial, \%pipes, $supervisor);
  }
  $guard{$guard} = $serial;
  nonblocking($_) for $pipes{out}[0], $pipes{err}[0], $pipes{in}[1];
  return { serial => $serial, guard => $guard, out => $pipes{out}[0], err => $pipes{err}[0],
    in => $pipes{in}[1], ctl => $pipes{ctl}[1], tell => $pipes{tell}[1] };
}
sub write_all {
  my ($handle, $bytes) = @_;
  while (length $bytes) {
    my $n = syswrite($handle, $bytes, 65536);
    if (!defined $n) { next if $!{EINTR}; return 0 }
    substr($bytes, 0, $n) = '';
  }
  return 1;
}

sub start_command {
  my ($id, $payload) = @_;
  my ($head, $tail, $has_input, $bytes, $rest) = unpack('(N/a*)*', $payload);
  my ($oom, $pids) = counters();
  my $c;
  # A killed spare gets no command; the next one is fresh.
  while (1) {
    my $was_spare = @spares;
    $c = shift(@spares) || make_spare();
    unless ($c) { send_frame('x', $id, pack('N5', $NO_FORK, 0, $! + 0, 0, (counters())[1] - $pids)); return }
    last if write_all($c->{tell}, pack('N/a*', $rest)) || !$was_spare;
  }
  close $c->{tell}; delete $c->{tell};
  %$c = (%$c, id => $id, feed => $bytes, running => 1, oom => $oom, pids => $pids,
    map { $_ => { head => $head, tail => $tail, cut => 0, end => '' } } qw(o e));
  $command{ $c->{serial} } = $c;
  $serial_of{$id} = $c->{serial};
  if ($has_input) { feed($c) } else { close $c->{in}; $c->{in} = undef }
}
sub feed {
  my ($c) = @_;
  while (length $c->{feed}) {
    my $n = syswrite($c->{in}, $c->{feed}, 65536);
    if (!defined $n) { return if $!{EAGAIN} || $!{EINTR}; last }
    substr($c->{feed}, 0, $n) = '';
  }
  close $c->{in}; $c->{in} = undef; $c->{feed} = '';
}

# Reads one stream: up to `head` bytes are passed on at once, of the rest the last `tail` bytes are kept for the end.
sub read_stream {
  my ($c, $name, $key) = @_;
  my $n = sysread($c->{$name}, my $bytes, 65536);
  if (!defined $n) { return $!{EINTR} ? 1 : 0 }
  if ($n == 0) { close $c->{$name}; $c->{$name} = undef; return 0 }
  return $n unless $c->{running};
  my $kept = $c->{$key};
  if ($kept->{head} > 0) {
    my $part = length $bytes > $kept->{head} ? substr($bytes, 0, $kept->{head}, '') : $bytes;
    $bytes = '' if $kept->{head} >= $n;
    $kept->{head} -= length $part;
    send_frame($key, $c->{id}, $part);
  }
  return $n unless length $bytes;
  $kept->{end} .= $bytes;
  if (length $kept->{end} > $kept->{tail} + 1_048_576) {
    my $over = length($kept->{end}) - $kept->{tail};
    $kept->{cut} += $over; substr($kept->{end}, 0, $over) = '';
  }
  return $n;
}
sub finish_command {
  my ($c, $kind, $status, $errno, $more) = @_;
  for my $stream (['out', 'o'], ['err', 'e']) {
    my ($name, $key) = @$stream;
    # The bytes in the pipe now are the command's; later output of a background process is not waited for.
    for (1 .. 32) { last unless $c->{$name} && read_stream($c, $name, $key) }
    my $kept = $c->{$key};
    my $over = length($kept->{end}) - $kept->{tail};
    if ($over > 0) { $kept->{cut} += $over; substr($kept->{end}, 0, $over) = '' }
    send_frame(uc $key, $c->{id}, pack('N2', $kept->{cut} >> 32, $kept->{cut} & 0xffffffff)) if $kept->{cut};
    for (my $at = 0; $at < length $kept->{end}; $at += 65536) { send_frame($key, $c->{id}, substr($kept->{end}, $at, 65536)) }
    $c->{$key} = undef;
  }
  $c->{running} = 0;
  delete $serial_of{ $c->{id} };
  if ($c->{in}) { close $c->{in}; $c->{in} = undef; $c->{feed} = '' }
  my ($oom, $pids) = counters();
  my @left = $more ? describe(descendants($c->{guard})) : ();
  send_frame('x', $c->{id}, pack('N5 (N/a*)*', $kind, $status, $errno, $oom - $c->{oom}, $pids - $c->{pids}, @left));
  forget($c);
}
# A command is kept while its background processes may still write.
sub forget { my ($c) = @_; delete $command{ $c->{serial} } unless $c->{running} || $c->{out} || $c->{err} }
sub describe {
  return map { my $line = first_line("/proc/$_/cmdline"); $line =~ s/\0+$//; $line =~ tr/\0/ /; ($_, substr($line, 0, 400)) } @_;
}
# Everything in the container but the first process, and programs of PicoClaw's with the guards.
sub background {
  opendir(my $proc, '/proc') or return ();
  my @pids = grep { /^\d+$/ && $_ != 1 } readdir $proc;
  my %foreground = map { $_ => 1 } map { descendants($_->{guard}) } grep { $_->{running} } values %command;
  # A process that is just leaving has no command line any more.
  return grep { !$foreground{$_} && first_line("/proc/$_/stat") =~ /\) [^ZX] /
    && first_line("/proc/$_/cmdline") =~ /^(?!perl\0-e\0# PicoClaw's own program in an environment)./s } @pids;
}
sub handle {
  my ($type, $id, $payload) = @_;
  if ($type eq 'S') { start_command($id, $payload) }
  elsif ($type eq 'K') {
    my $c = $command{ $serial_of{$id} || 0 } or return;
    syswrite($c->{ctl}, pack('N', $payload)); kill USR1 => $c->{guard};
  }
  elsif ($type eq 'P') { send_frame('p', $id, pack('(N/a*)*', describe(background()))) }
  elsif ($type eq 'Q') {
    my ($pid) = grep { $_ == $payload } background();
    my @tree = $pid ? ($pid, descendants($pid)) : ();
    kill TERM => @tree; kill CONT => @tree;
    select(undef, undef, undef, 0.2) if @tree;
    kill KILL => grep { kill 0 => $_ } @tree, $pid ? descendants($pid) : ();
    send_frame('q', $id, $pid ? 1 : 0);
  }
}
# A guard that was killed: its children are now ours.
sub reap_guards {
  while ((my $pid = waitpid(-1, POSIX::WNOHANG())) > 0) {
    my $serial = delete $guard{$pid};
    next unless defined $serial;
    @spares = grep { $_->{serial} != $serial } @spares;
    my $c = $command{$serial};
    next unless $c && $c->{running};
    take_statuses();
    next unless $c->{running};
    end_tree(sub { descendants($$, { map { $_ => 1 } keys %guard }) }, 0, sub { });
    finish_command($c, $LOST, 9, 0, 0);
  }
}
sub take_statuses {
  nonblocking($status_in);
  while (sysread($status_in, my $bytes, 20)) {
    my ($serial, @rest) = unpack('N5', $bytes);
    @spares = grep { $_->{serial} != $serial } @spares;
    finish_command($command{$serial}, @rest) if $command{$serial} && $command{$serial}{running};
  }
}

send_frame('h', 0, $$);
my ($pending, $starved) = ('', 0);
while (1) {
  my ($read, $write) = ('', '');
  vec($read, fileno STDIN, 1) = 1; vec($read, fileno $status_in, 1) = 1;
  for my $c (values %command) {
    for my $name (qw(out err)) { vec($read, fileno $c->{$name}, 1) = 1 if $c->{$name} }
    vec($write, fileno $c->{in}, 1) = 1 if $c->{in};
  }
  my $ready = select($read, $write, undef, @spares < $SPARES && !$starved ? $IDLE : %guard ? 1 : undef);
  if ($ready == 0 && @spares < $SPARES) {
    # Where processes are used up it is tried again a second later.
    my $spare = $starved ? undef : make_spare();
    if ($spare) { push @spares, $spare } else { $starved = !$starved }
  }
  if ($ready > 0) {
    for my $c (values %command) {
      for my $stream (['out', 'o'], ['err', 'e']) {
        my ($name, $key) = @$stream;
        next unless $c->{$name} && vec($read, fileno $c->{$name}, 1);
        for (1 .. 16) { last unless $c->{$name} && read_stream($c, $name, $key) }
      }
      feed($c) if $c->{in} && vec($write, fileno $c->{in}, 1);
      forget($c);
    }
    take_statuses() if vec($read, fileno $status_in, 1);
    # Guards of running commands notice that we are gone with the client, and end them.
    take_frames(\$pending, \&handle) if vec($read, fileno STDIN, 1);
  }
  reap_guards() if %guard;
}
