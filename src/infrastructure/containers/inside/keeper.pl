# The first process of an environment: `perl -e THIS [SOCKET PORT]`. Nothing inside can end it. It reaps what is
# orphaned, ends everything on TERM, and with SOCKET passes connections to 127.0.0.1:PORT on to that socket, behind
# which the proxy is: the container itself has no way out.
use strict; use warnings; use POSIX (); use Socket; use Fcntl;

my ($path, $port) = @ARGV;
my $stopping = 0;
$SIG{TERM} = $SIG{INT} = sub { $stopping = 1 };
$SIG{CHLD} = sub { };
$SIG{PIPE} = 'IGNORE';
my ($listener, %peer, %handle, %pending, %finished, %refused);
my $LIMIT = 1_048_576;

sub nonblocking { fcntl($_[0], F_SETFL, fcntl($_[0], F_GETFL, 0) | O_NONBLOCK) }
if ($path) {
  socket($listener, PF_INET, SOCK_STREAM, 0) or die;
  setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, pack 'l', 1);
  bind($listener, sockaddr_in($port, INADDR_LOOPBACK)) && listen($listener, 128) or die;
  nonblocking($listener);
}
sub hang_up {
  my @both = ($_[0], $peer{ $_[0] });
  for my $fd (@both) { close $handle{$fd}; delete $handle{$fd}; delete $pending{$fd}; delete $finished{$fd}; delete $peer{$fd} }
}
sub take_connection {
  accept(my $client, $listener) or return;
  my $server;
  unless (keys(%handle) + keys(%refused) < 1000 && socket($server, PF_UNIX, SOCK_STREAM, 0) && connect($server, sockaddr_un($path))) {
    my $why = "the way out of this environment is closed: its proxy does not answer\n";
    syswrite($client, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: " . length($why) . "\r\n\r\n$why");
    # Closed at once, with the request unread, the answer would be lost.
    nonblocking($client); shutdown($client, 1);
    $refused{ fileno $client } = $client; return;
  }
  nonblocking($_) for $client, $server;
  my ($one, $two) = (fileno $client, fileno $server);
  @handle{ $one, $two } = ($client, $server); @peer{ $one, $two } = ($two, $one); @pending{ $one, $two } = ('', '');
}
# `pending{fd}` is what is to be written to fd.
sub pull {
  my ($fd) = @_;
  my $n = sysread($handle{$fd}, $pending{ $peer{$fd} }, 65536, length $pending{ $peer{$fd} });
  if (!defined $n) { hang_up($fd) unless $!{EAGAIN} || $!{EINTR}; return }
  if ($n == 0) { $finished{$fd} = 1 }
  push_out($peer{$fd});
}
sub push_out {
  my ($fd) = @_;
  if (length $pending{$fd}) {
    my $n = syswrite($handle{$fd}, $pending{$fd});
    if (!defined $n) { hang_up($fd) unless $!{EAGAIN} || $!{EINTR}; return }
    substr($pending{$fd}, 0, $n) = '';
  }
  return if length $pending{$fd} || !$finished{ $peer{$fd} };
  return hang_up($fd) if $finished{$fd} && !length $pending{ $peer{$fd} };
  shutdown($handle{$fd}, 1) if $finished{ $peer{$fd} } == 1;
  $finished{ $peer{$fd} } = 2;
}

until ($stopping) {
  1 while waitpid(-1, POSIX::WNOHANG()) > 0;
  my ($read, $write) = ('', '');
  vec($read, fileno $listener, 1) = 1 if $listener;
  vec($read, $_, 1) = 1 for keys %refused;
  for my $fd (keys %handle) {
    vec($read, $fd, 1) = 1 if !$finished{$fd} && length $pending{ $peer{$fd} } < $LIMIT;
    vec($write, $fd, 1) = 1 if length $pending{$fd};
  }
  next unless select($read, $write, undef, 1) > 0;
  # With this process the whole environment ends: no connection may take it along.
  eval {
    for my $fd (grep { vec($read, $_, 1) } keys %refused) {
      my $n = sysread($refused{$fd}, my $gone, 65536);
      if (!$n && !(!defined $n && ($!{EAGAIN} || $!{EINTR}))) { close $refused{$fd}; delete $refused{$fd} }
    }
    for my $fd (keys %handle) { push_out($fd) if $handle{$fd} && vec($write, $fd, 1) }
    for my $fd (keys %handle) { pull($fd) if $handle{$fd} && vec($read, $fd, 1) }
    take_connection() if $listener && vec($read, fileno $listener, 1);
  };
}
kill TERM => -1; kill CONT => -1;
# The engine's own patience decides how long this may take. What it started inside is no child of ours.
sub others { opendir(my $proc, '/proc') or return 0; return grep { /^\d+$/ && $_ != $$ } readdir $proc }
while (others()) { 1 while waitpid(-1, POSIX::WNOHANG()) > 0; select(undef, undef, undef, 0.02) }
