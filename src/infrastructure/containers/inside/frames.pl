# PicoClaw's own program in an environment. This is the beginning of each that speaks with PicoClaw.
#
# A frame is N length of the rest, a1 type, N id, payload; a payload of several parts is a list of N-prefixed bytes. The
# first frame that a program sends is h, hello.
use strict; use warnings; use Errno; use Fcntl ':mode', ':DEFAULT';

sub send_frame {
  my ($type, $id, $payload) = @_;
  my ($bytes, $at) = (pack('N a1 N', 5 + length $payload, $type, $id) . $payload, 0);
  while ($at < length $bytes) {
    my $n = syswrite(STDOUT, $bytes, 1048576, $at);
    if (!defined $n) { next if $!{EINTR}; exit 0 }
    $at += $n;
  }
}
# Reads once, and handles each frame that is whole. Ends the program with its client.
sub take_frames {
  my ($pending, $handle) = @_;
  my $n = sysread(STDIN, $$pending, 1048576, length $$pending);
  exit 0 if defined $n ? $n == 0 : !$!{EINTR};
  while (length $$pending >= 4 && length $$pending >= 4 + unpack('N', $$pending)) {
    my $frame = substr($$pending, 4, unpack 'N', $$pending);
    substr($$pending, 0, 4 + length $frame) = '';
    my ($type, $id) = unpack('a1 N', $frame);
    $handle->($type, $id, substr($frame, 5));
  }
}

