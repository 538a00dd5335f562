#pragma once

#include <cstdio>
#include <memory>

namespace millpond::service {

struct CloseStdio {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
struct ClosePipe {
    void operator()(std::FILE* pipe) const noexcept { ::pclose(pipe); }
};

/// What std::fopen opened. Who must know whether buffered bytes were written calls std::fclose(file.release()).
using StdioFile = std::unique_ptr<std::FILE, CloseStdio>;
/// What popen started.
using StdioPipe = std::unique_ptr<std::FILE, ClosePipe>;

}  // namespace millpond::service
