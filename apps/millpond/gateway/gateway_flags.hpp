#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/millpond/command_line/section_flags.hpp"
#include "gateway/settings/config.hpp"
#include "service/settings/errors.hpp"

namespace millpond::app {

class Arguments;

/// Configuration of a gateway from the command line: a file, and a flag for every key.
class GatewayFlags {
public:
    using Kinds = std::span<const gateway::SinkKind* const>;
    using Formats = std::span<const gateway::FeedFormat* const>;
    explicit GatewayFlags(Kinds sink_kinds = gateway::builtin_sink_kinds(),
                          Formats feed_formats = gateway::builtin_feed_formats())
        : sink_kinds_(sink_kinds), feed_formats_(feed_formats) {}

    /// Adds --config, a flag for each top-level key and one for each table.
    void add_to(Arguments& options);

    /// Reads `defaults`, overridden by the file, overridden by the flags; not completed. Adds the errors of the file to
    /// `errors`: complete() may find more. Throws UsageError for the flags.
    [[nodiscard]] gateway::Config read(gateway::Config defaults, settings::Errors& errors) const;

    /// Whether --config was given.
    [[nodiscard]] bool has_file() const noexcept { return !file_.empty(); }

private:
    Kinds sink_kinds_;
    Formats feed_formats_;
    std::string file_;
    WrittenFlags keys_{std::make_shared<WrittenFlags::element_type>()};
    WrittenFlags tables_{std::make_shared<WrittenFlags::element_type>()};
};

}  // namespace millpond::app
