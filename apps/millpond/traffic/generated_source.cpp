#include "apps/millpond/traffic/generated_source.hpp"

#include <cstdint>
#include <stdexcept>

namespace millpond::traffic {

GeneratedSource::GeneratedSource(const Options& options) : options_(options), feed_(options.feed) {
    if (!(options.datagrams_per_second > 0)) {
        throw std::invalid_argument("generated source: datagrams a second must be above 0");
    }
}

bool GeneratedSource::next(Outgoing& out) {
    out.due_ns = static_cast<std::int64_t>(static_cast<double>(count_++) * 1e9 / options_.datagrams_per_second);
    const auto before = feed_.steps();
    out.bytes = feed_.next(buffer_, options_.begin_utc_ns + out.due_ns);
    out.messages = static_cast<std::uint32_t>(feed_.steps() - before);
    return true;
}

}  // namespace millpond::traffic
