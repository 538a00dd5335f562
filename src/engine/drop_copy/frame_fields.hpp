#pragma once

#include <algorithm>
#include <bitset>
#include <span>
#include <vector>

#include <millpond/fix/dictionary.hpp>

namespace millpond::engine {

/// Set of fields outside the body: those of the standard in any version, and of dictionaries.
class FrameFields {
public:
    explicit FrameFields(std::span<const fix::Dictionary* const> dictionaries) {
        for (auto version = fix::Version::fix40; version <= fix::Version::fixt11;
             version = static_cast<fix::Version>(static_cast<int>(version) + 1)) {
            add(fix::Dictionary::session_level(version));
        }
        for (const auto* dictionary : dictionaries) add(*dictionary);
    }
    [[nodiscard]] bool has(fix::Tag tag) const noexcept {
        return tag < tags_.size() ? tags_[tag] : std::ranges::binary_search(further_, tag);
    }

private:
    void add(const fix::Dictionary& dictionary) {
        add(dictionary.header());
        add(dictionary.trailer());
        std::ranges::sort(further_);
    }
    void add(const fix::FieldSet& fields) {
        for (const auto& member : fields.members()) {
            if (member.group != nullptr) add(*member.group);
            if (member.tag < tags_.size()) {
                tags_.set(member.tag);
            } else {
                further_.push_back(member.tag);
            }
        }
    }

    std::bitset<2048> tags_;
    std::vector<fix::Tag> further_;
};

}  // namespace millpond::engine
