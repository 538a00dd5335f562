// Usage: registry_program gateway --TABLE KEY=VALUE,... ... A gateway with the tests' sink kind and feed format in
// addition to the built-in ones, for the test of the page.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "service/log.hpp"
#include "service/stop_signal.hpp"
#include "tests/gateway/registry/registered.hpp"

namespace millpond::gateway {
namespace {

template <class One>
std::vector<const One*> both(std::span<const One* const> builtin, std::span<const One* const> more) {
    std::vector<const One*> all{builtin.begin(), builtin.end()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

int run(std::span<char* const> arguments) {
    const auto kinds = both(builtin_sink_kinds(), beacon::kinds());
    const auto formats = both(builtin_feed_formats(), ticker::formats());
    Config config;
    config.sink_kinds = kinds;
    config.feed_formats = formats;
    for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
        const std::string_view name{arguments[i]};
        if (name == "--metrics") {
            read_flag("metrics", arguments[i + 1], config);
        } else {
            read_table_flag(name.substr(2), arguments[i + 1], config);
        }
    }
    complete(config);
    const auto& stop = service::stop_on_signal();
    service::Log log{config.log_level, config.log_format};
    Gateway gateway{config, log};
    gateway.start();
    fmt::print("Ctrl-C stops it.\n");
    std::fflush(stdout);
    while (!stop.load()) {
        gateway.watch();
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    return 0;
}

}  // namespace
}  // namespace millpond::gateway

int main(int argc, char** argv) {
    try {
        return millpond::gateway::run(std::span{argv, static_cast<std::size_t>(argc)}.subspan(1));
    } catch (const std::exception& error) {
        fmt::print(stderr, "registry_program: {}\n", error.what());
        return 1;
    }
}
