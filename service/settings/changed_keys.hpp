#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/reloader.hpp"
#include "service/settings/schema.hpp"

namespace millpond::settings {

/// Appends an entry for each changed key of a section whose keys cannot change while the daemon runs. A key without
/// `show` matters only at the start. except: a key that may change.
template <class Section>
void append_changed_keys(const Section& now, const Section& next, std::vector<std::string>& refused,
                         std::string_view except = {}) {
    for (const auto& key : Schema<Section>::keys()) {
        if (key.show == nullptr || key.name == except) continue;
        service::append_if_changed(key.show(next) == key.show(now), key.name, refused);
    }
}

}  // namespace millpond::settings
