#include "apps/millpond/traffic/capture_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {

void add_timestamps(Arguments& command, std::string& target) {
    command
        .add_option("--timestamps", target,
                    "of a capture: whose times to use. auto: those of a switch, if half of the first 100 packets have "
                    "them; capture: the file's; metamako: the trailer of Arista 7130; nexus3550: the trailer of Cisco "
                    "Nexus 3550 and ExaLINK Fusion HPT; keyframes: counters of Arista 7150 and ExaLINK Fusion; "
                    "arista7280: the header 0xD28B")
        ->one_of({"auto", "capture", "metamako", "nexus3550", "keyframes", "arista7280"})
        ->capture_default_str();
}

files::Timestamps timestamps_named(const std::string& name) {
    const auto timestamps = files::timestamps_of(name);
    if (!timestamps) throw UsageError("--timestamps: '" + name + "' is not a source of times");
    return *timestamps;
}

std::string capture_text(const files::PcapReader& reader) {
    const auto& counts = reader.counts();
    auto text = fmt::format("{} frames, {} datagrams", counts.frames, counts.datagrams);
    counts.visit([&](const char*, const char* name, std::uint64_t count) {
        if (count != 0) text += fmt::format(", {} {}", name, count);
    });
    return text + fmt::format("; times: {}", files::to_string(reader.timestamps()));
}

}  // namespace millpond::app
