#pragma once

#include <memory>
#include <string>

#include "apps/millpond/command_line/section_flags.hpp"
#include "fixd/settings/engine_config.hpp"
#include "service/settings/errors.hpp"

namespace millpond::app {

class Arguments;

/// Configuration of a FIX engine from the command line: a file, and a flag for every key.
class FixFlags {
public:
    void add_to(Arguments& options);

    /// Reads the file, overridden by the flags; not completed. Adds the errors of the file to `errors`: complete() may
    /// find more. Throws UsageError for the flags.
    [[nodiscard]] fixd::EngineConfig read(settings::Errors& errors) const;
    /// Whether there is a file, which a reload reads again.
    [[nodiscard]] bool has_file() const noexcept { return !file_.empty(); }

private:
    std::string file_;
    WrittenFlags keys_{std::make_shared<WrittenFlags::element_type>()};
    WrittenFlags tables_{std::make_shared<WrittenFlags::element_type>()};
};

}  // namespace millpond::app
