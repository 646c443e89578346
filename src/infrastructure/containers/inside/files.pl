# Answers for the files of one folder, the argument: frames on standard input and output.
#
# One question, one answer, in order, under the same id. A question is q, a list of what to do and its fields; an answer
# is a, a list of fields, or e, the name of the error and a text.
# No link is followed in any part of a path: a path that leads through one does not exist here. Runs as the task's own
# user, so that it can do nothing that a command of the task could not.

my $root = $ARGV[0]; $root =~ s{/+$}{};
$SIG{PIPE} = 'DEFAULT';
binmode STDIN; binmode STDOUT;
umask 022;

sub code { for my $name (keys %!) { return $name if $!{$name} } return 'EIO' }
sub fault { die [ $_[0] || code(), $_[1] || "$!" ] }

# The absolute place of a path whose parents are all plain folders.
sub place { my ($path, $make) = @_;
  return $root if $path eq '';
  my @parts = split m{/}, $path, -1; my $at = $root; my $last = pop @parts;
  for my $part (@parts) {
    fault('EINVAL', 'bad path') if $part eq '' || $part eq '.' || $part eq '..' || $part =~ /\0/;
    $at .= "/$part";
    my @s = lstat $at;
    if (!@s) { $!{ENOENT} && $make or fault(); mkdir $at or fault(); next }
    fault($make ? 'EEXIST' : 'ENOTDIR', 'a parent is not a folder') unless S_ISDIR($s[2]);
  }
  fault('EINVAL', 'bad path') if $last eq '' || $last eq '.' || $last eq '..' || $last =~ /\0/;
  return "$at/$last" }
sub plain { my ($at) = @_; my @s = lstat $at or fault(); fault('EISDIR', 'is a folder') if S_ISDIR($s[2]);
  fault('ELOOP', 'is a link') if S_ISLNK($s[2]); fault('ENOTFILE', 'not a regular file') unless S_ISREG($s[2]); return @s }

my %do = (
  look => sub { my $at = eval { place($_[0]) }; if (!defined $at) { my $e = $@; return ('missing') if ref $e && $e->[0] =~ /^E(NOENT|NOTDIR)$/; die $e }
    my @s = lstat $at; if (!@s) { return ('missing') if $!{ENOENT} || $!{ENOTDIR}; fault() }
    my $mode = sprintf '%d', $s[2] & 07777;
    return ('directory', $mode) if S_ISDIR($s[2]);
    return ('file', $mode, $s[7]) if S_ISREG($s[2]);
    return ('symlink', readlink $at) if S_ISLNK($s[2]);
    return ('other') },
  read => sub { my ($path, $offset, $length) = @_; my $at = place($path); plain($at);
    sysopen(my $file, $at, Fcntl::O_RDONLY() | Fcntl::O_NOFOLLOW() | Fcntl::O_NONBLOCK()) or fault();
    my $size = -s $file; $length = $size - $offset if $length < 0 || $length > $size - $offset; $length = 0 if $length < 0;
    fault('EFBIG', 'larger than 64 MiB') if $length > 67108864;
    seek($file, $offset, 0); my ($bytes, $n) = ('', 0);
    while ($n < $length) { my $got = sysread($file, $bytes, $length - $n, $n); fault() unless defined $got; last unless $got; $n += $got }
    return ($bytes) },
  write => sub { my ($path, $mode, $bytes) = @_; my $at = place($path, 1); my @s = lstat $at;
    fault('EISDIR', 'is a folder') if @s && S_ISDIR($s[2]);
    my $new = "$at.picoclaw-$$"; unlink $new;
    sysopen(my $file, $new, Fcntl::O_WRONLY() | Fcntl::O_CREAT() | Fcntl::O_EXCL() | Fcntl::O_NOFOLLOW(), 0600) or fault();
    my $n = 0;
    while ($n < length $bytes) { my $put = syswrite($file, $bytes, 1048576, $n); if (!defined $put) { my @why = (code(), "$!"); unlink $new; die [@why] } $n += $put }
    my $bits = $mode ne '' ? $mode : @s && S_ISREG($s[2]) ? $s[2] & 07777 : 0644;
    chmod $bits, $new; close $file or do { my @why = (code(), "$!"); unlink $new; die [@why] };
    rename $new, $at or do { my @why = (code(), "$!"); unlink $new; die [@why] };
    return () },
  link => sub { my ($path, $target) = @_; my $at = place($path, 1); unlink $at; symlink $target, $at or fault(); return () },
  folder => sub { my $at = place($_[0], 1); my @s = lstat $at; return () if @s && S_ISDIR($s[2]);
    fault('EEXIST', 'already exists') if @s; mkdir $at or fault(); return () },
  remove => sub { my $at = place($_[0]); my @s = lstat $at or fault(); (S_ISDIR($s[2]) ? rmdir $at : unlink $at) or fault(); return () },
  rename => sub { my ($from, $to) = (place($_[0]), place($_[1], 1)); my @s = lstat $from or fault(); my @t = lstat $to;
    fault('EEXIST', 'already exists') if @t && (S_ISDIR($s[2]) || S_ISDIR($t[2])); rename $from, $to or fault(); return () },
  copy => sub { my ($from, $to) = (place($_[0]), place($_[1], 1)); my @s = lstat $from or fault();
    if (S_ISLNK($s[2])) { unlink $to; symlink readlink($from), $to or fault(); return () }
    plain($from); sysopen(my $in, $from, Fcntl::O_RDONLY() | Fcntl::O_NOFOLLOW()) or fault();
    my @t = lstat $to; fault('EISDIR', 'is a folder') if @t && S_ISDIR($t[2]);
    my $new = "$to.picoclaw-$$"; unlink $new;
    sysopen(my $out, $new, Fcntl::O_WRONLY() | Fcntl::O_CREAT() | Fcntl::O_EXCL(), 0600) or fault();
    while (my $got = sysread($in, my $piece, 1048576)) { my $n = 0; while ($n < $got) { my $put = syswrite($out, $piece, $got - $n, $n); if (!defined $put) { my @why = (code(), "$!"); unlink $new; die [@why] } $n += $put } }
    chmod $s[2] & 07777, $new; rename $new, $to or fault(); return () },
  list => sub { my $at = place($_[0]); my @s = lstat $at or fault(); fault('ENOTDIR', 'not a folder') unless S_ISDIR($s[2]);
    opendir(my $folder, $at) or fault(); return sort grep { $_ ne '.' && $_ ne '..' } readdir $folder },
);

sub handle {
  my ($type, $id, $payload) = @_;
  my ($what, @rest) = unpack '(N/a*)*', $payload;
  my @answer = eval { ($do{$what} || sub { fault('ENOSYS', "unknown: $what") })->(@rest) };
  my $why = $@;
  send_frame($why ? 'e' : 'a', $id, pack('(N/a*)*', !$why ? @answer : ref $why ? @$why : ('EIO', "$why")));
}

send_frame('h', 0, '');
my $pending = '';
take_frames(\$pending, \&handle) while 1;
