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

    /// The file first, then the flags over it. Not completed. Throws config::ConfigError for the file and UsageError
    /// for the flags.
    [[nodiscard]] fixd::EngineConfig read() const;
    /// Whether there is a file, which may change.
    [[nodiscard]] bool has_file() const noexcept { return !file_.empty(); }

private:
    std::string file_;
    WrittenFlags keys_{std::make_shared<WrittenFlags::element_type>()};
    WrittenFlags tables_{std::make_shared<WrittenFlags::element_type>()};
};

}  // namespace millpond::app
