# A second opinion on SMPP: an SMS centre by Net::SMPP, which shares no code with ours. Listens on the port it
# is given and serves one session after the other. It refuses a destination that ends with 101, says "slower"
# to 103, takes everything else, tells a receipt of it (undelivered for 121) with its reference, and has whoever was written to
# under 177 write STOP. A line of JSON on standard output for each message that it took.
use strict;
use warnings;
use Net::SMPP;

$| = 1;
my $listener = Net::SMPP->new_listen('127.0.0.1', port => $ARGV[0], smpp_version => 0x34, async => 1)
  or die "cannot listen: $!";
my $number = 0;
while (my $session = $listener->accept) { serve($session) }

sub serve {
  my ($session) = @_;
  while (my $pdu = $session->read_pdu) {
    if ($pdu->{cmd} == Net::SMPP::CMD_bind_transceiver) {
      $session->bind_transceiver_resp(seq => $pdu->{seq}, system_id => 'perl');
    } elsif ($pdu->{cmd} == Net::SMPP::CMD_enquire_link) {
      $session->enquire_link_resp(seq => $pdu->{seq});
    } elsif ($pdu->{cmd} == Net::SMPP::CMD_submit_sm) {
      submitted($session, $pdu);
    } elsif ($pdu->{cmd} == Net::SMPP::CMD_unbind) {
      $session->unbind_resp(seq => $pdu->{seq});
      last;
    }
  }
  close $session;
}

sub submitted {
  my ($session, $pdu) = @_;
  my $end = substr $pdu->{destination_addr}, -3;
  my $status = $end eq '101' ? 0x0b : $end eq '103' ? 0x58 : 0;
  my $id = sprintf '%08X', 0xabc + $number++;
  $session->submit_sm_resp(seq => $pdu->{seq}, status => $status, message_id => $status ? '' : $id);
  return if $status;
  printf qq({"from":"%s","to":"%s","coding":%d,"esmClass":%d,"octets":"%s"}\n),
    $pdu->{source_addr}, $pdu->{destination_addr}, $pdu->{data_coding}, $pdu->{esm_class},
    unpack 'H*', $pdu->{short_message};
  my @way = (source_addr => $pdu->{destination_addr}, source_addr_ton => 1, source_addr_npi => 1,
    destination_addr => $pdu->{source_addr});
  push @way, user_message_reference => $pdu->{user_message_reference} if defined $pdu->{user_message_reference};
  my $state = $end eq '121' ? 'UNDELIV' : 'DELIVRD';
  my $text = sprintf 'id:%010d sub:001 dlvrd:001 submit date:2611210000 done date:2611210001 stat:%s err:%s',
    hex $id, $state, $end eq '121' ? '005' : '000';
  $session->deliver_sm(@way, esm_class => 4, short_message => $text);
  $session->deliver_sm(@way, esm_class => 0, short_message => 'STOP') if $end eq '177';
}
