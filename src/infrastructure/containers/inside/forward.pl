# Connections to a port of this container's loopback, passed on through standard output and input. Nothing of it is a
# network. The hello has the port; o is a new connection, d data, c an end.
use Socket;

$SIG{PIPE} = 'IGNORE';
my (%client, %pending, %ending, %silent);
my ($next, $in, $LIMIT) = (1, '', 64);
sub nonblocking { fcntl($_[0], F_SETFL, fcntl($_[0], F_GETFL, 0) | O_NONBLOCK) }
sub drop { my ($id) = @_; my $one = delete $client{$id} or return; close $one; delete $_->{$id} for \%pending, \%ending, \%silent }
sub push_out {
  my ($id) = @_;
  while (length $pending{$id}) {
    my $n = syswrite($client{$id}, $pending{$id});
    if (!defined $n) { return if $!{EAGAIN} || $!{EINTR}; send_frame('c', $id, ''); return drop($id) }
    substr($pending{$id}, 0, $n) = '';
  }
  drop($id) if $ending{$id};
}
sub pull {
  my ($id) = @_;
  my $n = sysread($client{$id}, my $data, 65536);
  if (!defined $n && ($!{EAGAIN} || $!{EINTR})) { return }
  if ($n) { return send_frame('d', $id, $data) }
  send_frame('c', $id, '');
  if (defined $n) { $silent{$id} = 1 } else { drop($id) }
}
sub handle {
  my ($type, $id, $data) = @_;
  return unless $client{$id};
  if ($type eq 'd') { $pending{$id} .= $data } else { $ending{$id} = 1 }
  push_out($id);
}

my $listener;
socket($listener, PF_INET, SOCK_STREAM, 0) && bind($listener, sockaddr_in(0, INADDR_LOOPBACK)) && listen($listener, 64) or die "no port: $!\n";
nonblocking($listener);
send_frame('h', 0, (sockaddr_in(getsockname $listener))[0]);
while (1) {
  my ($read, $write) = ('', '');
  vec($read, 0, 1) = 1;
  vec($read, fileno $listener, 1) = 1 if keys %client < $LIMIT;
  for my $id (keys %client) {
    vec($read, fileno $client{$id}, 1) = 1 unless $silent{$id};
    vec($write, fileno $client{$id}, 1) = 1 if length $pending{$id};
  }
  next unless select($read, $write, undef, undef) > 0;
  for my $id (keys %client) { push_out($id) if $client{$id} && vec($write, fileno $client{$id}, 1) }
  for my $id (keys %client) { pull($id) if $client{$id} && vec($read, fileno $client{$id}, 1) }
  if (vec($read, fileno $listener, 1) && accept(my $one, $listener)) {
    nonblocking($one);
    $client{$next} = $one; $pending{$next} = '';
    send_frame('o', $next++, '');
  }
  take_frames(\$in, \&handle) if vec($read, 0, 1);
}
