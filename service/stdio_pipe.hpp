#pragma once

#include <cstdio>
#include <memory>

namespace millpond::service {

struct ClosePipe {
    void operator()(std::FILE* pipe) const noexcept { ::pclose(pipe); }
};

/// A stream from popen; pclose closes it.
using StdioPipe = std::unique_ptr<std::FILE, ClosePipe>;

}  // namespace millpond::service
