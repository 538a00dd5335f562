#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/itch_layout.hpp>

#include "arrays.hpp"
#include "arrow_capsule.hpp"
#include "capture_format.hpp"
#include "check_signals.hpp"
#include "in_use.hpp"
#include "itch_rows.hpp"
#include "name_list.hpp"
#include "parts.hpp"
#include "report.hpp"
#include "state_lock.hpp"
#include "table_columns.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

std::shared_ptr<ItchRows> open_rows(const std::string& kind, const std::string& path, const std::string& type,
                                    const std::string& only, const std::string& timestamps,
                                    const std::optional<std::vector<std::string>>& symbols, bool nanos,
                                    std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                                    std::optional<std::int64_t> midnight_utc_ns, std::uint64_t bytes) {
    if (type.size() > 1 || (type.size() == 1 && feed::itch_layout::message_bytes(type[0]) == 0))
        throw std::invalid_argument("type: found '" + type + "', must be a letter of an ITCH message, or empty");
    // Like open_scan: without a day, times count from 1970-01-01.
    constexpr std::int64_t kDayNs = 86'400'000'000'000;
    const ItchRows::Options options{.file = {.path = path,
                                             .only = only,
                                             .timestamps = timestamps_named(timestamps),
                                             .symbols = symbols,
                                             .start = start,
                                             .end = end,
                                             .midnight_utc_ns = midnight_utc_ns.value_or(kDayNs),
                                             .bytes = bytes},
                                    .capture = kind == "capture",
                                    .type = type.empty() ? '\0' : type[0],
                                    .nanos = nanos,
                                    .shift_ns = midnight_utc_ns ? 0 : -kDayNs};
    const nb::gil_scoped_release unlocked;
    return std::make_shared<ItchRows>(options);
}

/// The bytes of a batch's rows; None at the end.
std::optional<ByteArray> read_rows(ItchRows& file, std::size_t max_rows) {
    const InUse guard{file.in_use()};
    std::vector<std::byte> rows;
    {
        const nb::gil_scoped_release unlocked;
        rows = file.read(max_rows, &check_signals);
    }
    if (rows.empty() && file.ended()) return std::nullopt;
    return to_bytes(std::move(rows));
}

/// (venue, symbol) of the instruments from `first` on.
NameList names_of_rows(ItchRows& file, std::size_t first) {
    return to_list(between_steps(file.state_lock(), [&] {
        return names_from(first, file.instruments(), [&](std::size_t id) {
            const auto named = file.instrument(static_cast<feed::InstrumentId>(id));
            return std::pair{std::string{named.venue.view()}, std::string{named.symbol.view()}};
        });
    }));
}

ReportDict report_of_rows(ItchRows& file) {
    return to_report(between_steps(file.state_lock(), [&] {
        return Report{file.counts(), file.messages().errors(), file.outside(), file.ended()};
    }));
}

/// The rows as a stream of Arrow's.
class RowBatches {
public:
    RowBatches(std::shared_ptr<ItchRows> file, std::size_t max_rows)
        : file_(std::move(file)), max_rows_(max_rows), columns_(*file_, file_->table(), file_->is_nanos()) {}

    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return file_->in_use(); }
    std::vector<ArrowColumn> schema() { return columns_.empty(); }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        constexpr std::size_t kMaxAtOnce = 8'192;  // rows that are still in the cache when the last column copies them
        while (columns_.rows() < max_rows_ && !file_->ended()) {
            const auto bytes = file_->read(std::min(max_rows_ - columns_.rows(), kMaxAtOnce), &check_signals);
            const auto rows = bytes.size() / file_->table().row_bytes;
            if (rows != 0) columns_.append(bytes, rows, max_rows_);
        }
        const auto rows = columns_.rows();
        return {columns_.drain(), rows};
    }

private:
    std::shared_ptr<ItchRows> file_;
    std::size_t max_rows_;
    TableColumns columns_;
};

nb::object stream_of_rows(std::shared_ptr<ItchRows> file, std::size_t max_rows) {
    return arrow_capsule(RowBatches{std::move(file), max_rows});
}

std::uint64_t offset_of_rows(ItchRows& file) {
    return between_steps(file.state_lock(), [&] { return file.messages().offset(); });
}

}  // namespace

void add_itch_rows(nb::module_& module) {
    nb::class_<ItchRows>(module, "OpenedRows")
        .def("read", &read_rows, nb::arg("max_rows"))
        .def("names", &names_of_rows, nb::arg("first"))
        .def("report", &report_of_rows)
        .def_prop_ro("offset", &offset_of_rows);
    module.def("itch_stream", &stream_of_rows, nb::arg("rows"), nb::arg("max_rows"));
    module.def("open_itch_rows", &open_rows, nb::arg("kind"), nb::arg("path"), nb::arg("type"), nb::arg("only"),
               nb::arg("timestamps"), nb::arg("symbols").none(), nb::arg("nanos"), nb::arg("start").none(),
               nb::arg("end").none(), nb::arg("midnight_utc_ns").none(), nb::arg("bytes"));
}

}  // namespace millpond::python
