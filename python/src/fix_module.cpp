#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrow_capsule.hpp"
#include "check_signals.hpp"
#include "fix_log.hpp"
#include "parts.hpp"
#include "state_lock.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

/// A log and the guard of its one thread. `state` is held while it reads.
struct OpenedLog {
    FixLog log;
    std::atomic<bool> in_use{false};
    StateLock state{};
};

std::shared_ptr<OpenedLog> open_log(const std::string& path,
                                    const std::vector<std::tuple<fix::Tag, std::string, bool>>& tags,
                                    const std::vector<std::string>& types,
                                    const std::map<std::string, std::string>& type_names) {
    FixLog::Options options{.path = path, .tags = {}, .types = types, .type_names = type_names};
    for (const auto& [tag, column, every] : tags) options.tags.push_back({tag, column, every});
    return std::shared_ptr<OpenedLog>(new OpenedLog{.log = FixLog{options}});
}

nb::typed<nb::dict, nb::str, nb::any> report_of_log(OpenedLog& opened) {
    const auto [from, errors] =
        between_steps(opened.state, [&] { return std::pair{opened.log.counts(), opened.log.errors().texts()}; });
    nb::dict counts;
    counts["lines"] = from.lines;
    counts["bytes"] = from.bytes;
    counts["messages"] = from.messages;
    counts["faulty"] = from.faulty;
    counts["masked"] = from.masked;
    counts["remarks"] = from.remarks;
    counts["unwanted"] = from.unwanted;
    nb::dict all;
    all["counts"] = counts;
    all["errors"] = errors;
    return all;
}

/// Source of the batches of an Arrow stream.
class LogBatches {
public:
    LogBatches(std::shared_ptr<OpenedLog> opened, std::size_t max_rows)
        : opened_(std::move(opened)), max_rows_(max_rows) {}
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return opened_->in_use; }
    std::vector<ArrowColumn> schema() { return opened_->log.empty_columns(); }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        const std::scoped_lock lock{opened_->state};
        return opened_->log.read(max_rows_, &check_signals);
    }

private:
    std::shared_ptr<OpenedLog> opened_;
    std::size_t max_rows_;
};

nb::object log_stream(std::shared_ptr<OpenedLog> opened, std::size_t max_rows) {
    return arrow_capsule(LogBatches{std::move(opened), max_rows});
}

}  // namespace

void add_fix_log(nb::module_& module) {
    nb::class_<OpenedLog>(module, "OpenedFixLog").def("report", &report_of_log);
    module.def("open_fix_log", &open_log, nb::arg("path"), nb::arg("tags"), nb::arg("types"), nb::arg("type_names"));
    module.def("fix_log_stream", &log_stream, nb::arg("log"), nb::arg("max_rows"));
}

}  // namespace millpond::python
