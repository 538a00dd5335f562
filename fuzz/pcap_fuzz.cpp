#include <string>

#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "fuzz/fuzz_target.hpp"

/// Arbitrary bytes as a file: reading ends, each frame is counted once, and datagrams are inside the file.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::files;
    try {
        PcapReader reader{input, "fuzz"};
        CapturedDatagram datagram;
        while (reader.next(datagram)) {
            // Joined fragments are copies.
            const bool inside = datagram.payload.empty() || reader.counts().fragments != 0 ||
                                (datagram.payload.data() >= input.data() &&
                                 datagram.payload.data() + datagram.payload.size() <= input.data() + input.size());
            millpond::feed::require_kept(inside ? "" : "a payload lies inside the file");
        }
        const auto& counts = reader.counts();
        const auto sum = counts.datagrams + counts.not_ip + counts.not_udp + counts.fragments + counts.cut +
                         counts.tunnels + counts.keyframes + counts.malformed;
        millpond::feed::require_kept(sum == counts.frames ? "" : "every frame is in one count");
        const bool whole = reader.offset() == input.size();
        millpond::feed::require_kept(whole == reader.error().empty() ? ""
                                                                     : "a file that is not read whole has an error");
        CapturedDatagram after;
        millpond::feed::require_kept(reader.next(after) ? "an ended file stays ended" : "");
    } catch (const FileFormatError&) {  // not a capture
    }
}
