#include "gateway/health/advice.hpp"

namespace millpond::gateway::health {

Advice advice(Stage stage) noexcept {
    switch (stage) {
        case Stage::receive_thread:
            return {"Nothing is received on this ring.",
                    "Check for a stopped process or an overloaded processor (`top -H`), then restart the gateway."};
        case Stage::link:
            return {"No datagram can arrive on this interface.",
                    "Check the cable and the switch port (`ip -s link`, `ethtool DEVICE`)."};
        case Stage::group_not_joined:
            return {"The kernel does not receive the feed's multicast group.",
                    "Check the `interface` key of the feed and `ip maddr`; an interface that was made again is joined "
                    "again, with "
                    "`af_xdp` or without CAP_NET_RAW only by a restart."};
        case Stage::connection:
            return {"Nothing of this feed arrives until the gateway is logged in at its server.",
                    "Check `connect`, `user` and `password_file`, and the way to the server with `millpond doctor`."};
        case Stage::no_datagrams:
            return {"The feed has delivered nothing since the start, so it has no quotes.",
                    "Check address, port and interface with `millpond doctor`; if it finds no other fault, restart the "
                    "gateway."};
        case Stage::stale:
            return {"The newest quotes of this feed may be out of date.",
                    "Check the sender, and the network with `millpond doctor`; if it finds no other fault, restart the "
                    "gateway."};
        case Stage::latency:
            return {
                "Quotes of this ring are late at every reader and sink.",
                "Compare `in_process` on the page: if it is small, datagrams wait in the kernel, so pin the receive "
                "thread and its interrupts or choose `poll = \"spin\"`; otherwise look for other work on its processor "
                "(`top -H`)."};
        case Stage::kernel_drops:
            return {"Datagrams were lost on this machine, before the gateway read them.",
                    "Raise `receive_buffer` and its limit (`sysctl -w net.core.rmem_max=67108864`), pin the receive "
                    "thread, or choose `poll = \"spin\"`."};
        case Stage::checksum:
            return {"Damaged datagrams were dropped, and their contents are lost.",
                    "Check cables and network cards (`ethtool -S DEVICE`); a sender on veth needs `ethtool -K DEVICE "
                    "tx off`."};
        case Stage::line:
            return {"The feed has no redundancy: losses of the other line are final.",
                    "Check the line's group, interface and sender (`ip -s link`, `ip maddr`), and the session that it "
                    "sends."};
        case Stage::undecodable:
            return {"Messages were rejected, so their changes are missing from the quotes.",
                    "Check `format`, the port and the decoder's error in the log; `millpond gateway --capture` keeps "
                    "the datagrams for analysis."};
        case Stage::other_session:
            return {"A sender with another session uses this address; its datagrams are ignored.",
                    "Find the sender with `tcpdump`, or set `source` to accept only one. Configure two simultaneous "
                    "senders as two feeds."};
        case Stage::request_server:
            return {"Messages that no line delivers stay missing until the server can be reached and answers.",
                    "Check `rerequest`, the server, the interface and the routes (`ip route get ADDRESS`)."};
        case Stage::waiting:
            return {"Quotes of the feed are late until the missing messages arrive or the gap is given up.",
                    "Check the re-request server and the lines; `rerequest_ms` and `reorder_us` limit the wait."};
        case Stage::gap:
            return {"Messages are missing; the quotes they may have changed are marked incomplete.",
                    "Look for drops (`nstat -az UdpRcvbufErrors`, `ethtool -S DEVICE`), then at the sender and the "
                    "network; a second line, `rerequest` or `rebuild` closes gaps."};
        case Stage::joined_late:
            return {
                "The sender sends changes only: an instrument appears with its next change, and its book is "
                "incomplete.",
                "Start receivers before the sender, or restart the sender's gateway or its sink; of an itch feed "
                "`rebuild` with `glimpse`, `rebuild_from` or `rerequest` brings what was sent before."};
        case Stage::books_incomplete:
            return {
                "A better price than the one shown may exist.",
                "Wait for the rebuild, or configure `rerequest` or `rebuild_from`; a new session completes the books."};
        case Stage::rejected:
            return {
                "The changes in these messages are missing from the quotes, which are marked incomplete.",
                "After a gap, close that first. Otherwise check `format` and the version of the protocol; `millpond "
                "gateway --capture` keeps the datagrams for analysis."};
        case Stage::table_full:
            return {"Instruments or orders did not fit into a full table; their quotes are missing or incomplete.",
                    "Raise the key that the finding names (`max_instruments` of the ring, `max_orders` of the feed) "
                    "and restart the gateway."};
        case Stage::incomplete:
            return {
                "These quotes may have changed without the gateway's knowledge; every output marks them incomplete.",
                "Each is complete again when a newer one replaces it; ITCH books need `rebuild`, `rebuild_from` or a "
                "new session."};
        case Stage::books_crossed:
            return {"A market that trades has no crossed book: messages are missing or wrong.",
                    "Compare with another source of the venue; `millpond gateway --capture` keeps the datagrams."};
        case Stage::delay:
            return {
                "Exchange times and the delays computed from them are wrong, or the quotes are old.",
                "Check `timezone` and `date` of the feed, the clock of this machine (`timedatectl`) and the sender."};
        case Stage::halted:
            return {"The venue has stopped trading; the last quotes do not change.", "Wait for the venue."};
        case Stage::capture:
            return {"Raw datagrams are missing in the capture; quotes and sinks are not affected.",
                    "Check the disk of the capture's folder (`df -h`), and the log for the error."};
        case Stage::sink_failures:
            return {
                "The sink retries, and events wait meanwhile; of a failed sync, what it promises of a crash of the "
                "machine does not hold.",
                "The last error has the reason: check the disk (`df -h`), the network, or raise `segment_bytes`."};
        case Stage::sink_refused:
            return {
                "Consumers of this sink lack the refused messages, which count as missed; the others are passed on.",
                "The last error names the topic and the reason: create the topic, permit it to the sink's user "
                "(ACL), or raise the broker's size limit."};
        case Stage::sink_disconnected:
            return {"The broker gets no quotes from this sink; other sinks are not affected.",
                    "Check that the broker runs, its address and port (`ss -tn`), the password and the certificates; "
                    "the log has the error."};
        case Stage::sink_behind:
            return {"Consumers of this sink get quotes late or not at all; other sinks are not affected.",
                    "Check the sink's last error, its disk (`df -h`), its broker or its clients (`ss -tn`); `mode = "
                    "\"conflate\"` keeps only the newest quotes."};
        case Stage::sink_lost:
            return {"Consumers of this sink have missed events; it marks the quotes before them incomplete.",
                    "Find out why the sink was slow (a full disk: `df -h`), raise the ring's `capacity`, or use `mode "
                    "= \"conflate\"`."};
        case Stage::slow_client:
            return {
                "The client gets a line about what it has lost; other clients are not affected.",
                "Find it in the table of clients: let it subscribe to fewer symbols or use mode `conflate`, raise the "
                "sink's `backlog`, or check its machine and network (`ss -tn`)."};
        case Stage::checkpoint:
            return {"Books of readers that begin in the journal come later, and segments are kept for longer.",
                    "Check the disk of the journal (`df -h`), raise `segment_bytes`, or reduce the load of the sink's "
                    "processor (`top -H`)."};
        case Stage::exposed:
            return {"Anyone who reaches the address can read quotes, or the token on its way.",
                    "Set `token_file` and `tls_certificate` with `tls_key`, or listen on 127.0.0.1; "
                    "docs/guides/security.md has the commands."};
    }
    return {};
}

}  // namespace millpond::gateway::health
