#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arrow_capsule.hpp"
#include "check_signals.hpp"
#include "opened_scan.hpp"
#include "parts.hpp"
#include "table_columns.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

/// Some tables of a scan, as columns that are filled together.
class ScanTables {
public:
    ScanTables(std::shared_ptr<OpenedScan> scan, const std::vector<std::size_t>& wanted, std::size_t max_rows)
        : scan_(std::move(scan)), max_rows_(max_rows) {
        const bool nanos = scan_->collector().options().nanos;
        for (const auto which : wanted) tables_.emplace_back(scan_->source(), python::tables()[which], nanos);
    }

    /// Reads up to `max` messages, datagrams or records, or until a table is full. False at the end of the file.
    bool read(std::size_t max) {
        constexpr std::size_t kFew = 2'048;  // rows that are still in the cache when the last column copies them
        for (std::size_t rows_read = 0; rows_read < max && !scan_->ended(); rows_read += kFew) {
            std::size_t most = 0;
            for (const auto& table : tables_) most = std::max(most, table.rows());
            if (most >= max_rows_) return true;
            scan_->read_some(std::min(max_rows_ - most, kFew), &check_signals)
                .visit([&](std::size_t which, auto& rows) {
                    for (auto& table : tables_) {
                        if (&table.table() == &python::tables()[which] && !rows.empty())
                            table.append(std::as_bytes(std::span{rows}), rows.size(), max_rows_);
                    }
                    rows.clear();
                });
        }
        return !scan_->ended();
    }
    [[nodiscard]] bool is_full(const TableColumns& table) const noexcept {
        return table.rows() >= max_rows_ || (scan_->ended() && table.rows() != 0);
    }
    [[nodiscard]] std::vector<TableColumns>& tables() noexcept { return tables_; }
    [[nodiscard]] OpenedScan& scan() noexcept { return *scan_; }

private:
    std::shared_ptr<OpenedScan> scan_;
    std::size_t max_rows_;
    std::vector<TableColumns> tables_;
};

/// A table as a stream. Rows are read when the consumer requests them.
class TableBatches {
public:
    explicit TableBatches(ScanTables tables) : tables_(std::move(tables)) {}

    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return tables_.scan().in_use(); }
    std::vector<ArrowColumn> schema() { return table().empty(); }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        constexpr std::size_t kMax = 65'536;
        while (tables_.read(kMax) && !tables_.is_full(table())) {
        }
        const auto rows = table().rows();
        return {table().drain(), rows};
    }

private:
    TableColumns& table() noexcept { return tables_.tables().front(); }

    ScanTables tables_;
};

/// Rows of one table that are there already, as a stream of one batch.
struct TablePart {
    std::vector<ArrowColumn> schema;
    std::vector<ArrowColumn> columns;
    std::size_t rows;
    std::atomic<bool> in_use{false};
};

class PartBatches {
public:
    explicit PartBatches(std::shared_ptr<TablePart> part) : part_(std::move(part)) {}

    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return part_->in_use; }
    const std::vector<ArrowColumn>& schema() { return part_->schema; }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        return {std::move(part_->columns), std::exchange(part_->rows, 0)};
    }

private:
    std::shared_ptr<TablePart> part_;
};

nb::object arrow_stream(std::shared_ptr<OpenedScan> scan, std::size_t table, std::size_t max_rows) {
    return arrow_capsule(TableBatches{ScanTables{std::move(scan), {table}, max_rows}});
}

using NumberedPart = nb::typed<nb::tuple, std::size_t, TablePart>;
using PartList = nb::typed<nb::list, NumberedPart>;

NumberedPart part_of(TableColumns& table, std::vector<ArrowColumn> columns, std::size_t rows) {
    return nb::make_tuple(static_cast<std::size_t>(&table.table() - python::tables().data()),
                          std::make_shared<TablePart>(table.empty(), std::move(columns), rows));
}

/// (table, no rows) of each table.
PartList empty_parts(ScanTables& tables) {
    const InUse guard{tables.scan().in_use()};
    nb::list parts;
    for (auto& table : tables.tables()) parts.append(part_of(table, {}, 0));
    return parts;
}

/// (table, its newest rows) of the tables that are full, at the end of all that have rows; None behind that. Takes a
/// bounded time, in which there may be none.
std::optional<PartList> read_parts(ScanTables& tables) {
    constexpr std::size_t kMax = 131'072;
    const InUse guard{tables.scan().in_use()};
    if (tables.scan().ended()) return std::nullopt;
    {
        const nb::gil_scoped_release unlocked;
        tables.read(kMax);
    }
    nb::list parts;
    for (auto& table : tables.tables()) {
        if (!tables.is_full(table)) continue;
        const auto rows = table.rows();
        parts.append(part_of(table, table.drain(), rows));
    }
    return PartList{parts};
}

}  // namespace

void add_arrow_stream(nb::module_& module) {
    nb::class_<TablePart>(module, "TablePart")
        .def(
            "__arrow_c_stream__",
            [](std::shared_ptr<TablePart> part, const nb::object&) {
                return arrow_capsule(PartBatches{std::move(part)});
            },
            nb::arg("requested_schema").none() = nb::none(),
            nb::sig("def __arrow_c_stream__(self, requested_schema: object = None) -> object"));
    nb::class_<ScanTables>(module, "ScanTables")
        .def(nb::init<std::shared_ptr<OpenedScan>, const std::vector<std::size_t>&, std::size_t>(), nb::arg("scan"),
             nb::arg("tables"), nb::arg("max_rows"))
        .def("empty", &empty_parts)
        .def("read", &read_parts);
    module.def("arrow_stream", &arrow_stream, nb::arg("scan"), nb::arg("table"), nb::arg("max_rows"));
}

}  // namespace millpond::python
