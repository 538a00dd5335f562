#pragma once

#include <memory>
#include <string>

#include "apps/millpond/gateway/section_flags.hpp"
#include "fixd/engine_config.hpp"

namespace millpond::app {

class Arguments;

/// The configuration of a FIX engine as the command line gives it: a file, and every key of it as a flag.
class FixFlags {
public:
    void add_to(Arguments& options);

    /// The file with the flags on top, not completed. Throws settings::ConfigError for the file and UsageError
    /// for the flags.
    [[nodiscard]] fixd::EngineConfig read() const;
    /// Whether there is a file, which a reload reads again.
    [[nodiscard]] bool has_file() const noexcept { return !file_.empty(); }

private:
    std::string file_;
    WrittenFlags keys_{std::make_shared<WrittenFlags::element_type>()};
    WrittenFlags tables_{std::make_shared<WrittenFlags::element_type>()};
};

}  // namespace millpond::app
