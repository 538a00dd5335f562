#include "rows.hpp"

namespace millpond::python {

std::span<const Table, kTables> tables() noexcept {
    static constexpr auto kAll = [] {
        std::array<Table, kTables> all{};
        TableEvents::for_each([&]<class Event>() {
            const auto& layout = kRowLayout<Event>;
            all[kTableIndex<Event>] = {feed::EventSchema<Event>::kTable, layout.bytes,
                                       std::span{layout.columns}.first(layout.count)};
        });
        return all;
    }();
    return kAll;
}

}  // namespace millpond::python
