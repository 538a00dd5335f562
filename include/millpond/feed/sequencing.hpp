#pragma once

namespace millpond::feed {

/// How a decoder's format numbers its datagrams; each decoder's header has its own. `read` gives nothing for what no
/// header can be read of; `is_whole` looks at all of it. A format whose sessions begin with message 1 has `announce`,
/// which writes a heartbeat that says so. A format with several channels in one group has `same_channel`. Formats
/// without sequence numbers have no Sequencing.
template <class Decoder>
struct Sequencing;

template <class Decoder>
concept Sequenced = requires { typename Sequencing<Decoder>::Session; };

}  // namespace millpond::feed
