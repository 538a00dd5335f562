#include <millpond/fix/group.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/validator.hpp>

#include "fuzz/fix_input.hpp"
#include "fuzz/fuzz_target.hpp"

namespace {

using namespace millpond::fix;

/// Tags of one digit, so that the fuzzer finds groups: 1 counts instances of 2, 3 and 4; 4 those of 5, 6 and 7; 7 those
/// of 9.
Dictionary dictionary() {
    Dictionary made{"FIX.4.4"};
    made.set_complete(false);
    const auto define = [&made](Tag tag, FieldType type) { made.define_field(tag, "F" + std::to_string(tag), type); };
    for (const Tag tag : {2U, 3U, 5U, 6U, 11U}) define(tag, FieldType::text);
    define(12, FieldType::data);
    for (const Tag tag : {1U, 4U, 7U}) define(tag, FieldType::group_count);
    auto& body = made.define_message("D", "Order", false).fields;
    body.add(11, false);
    auto& outer = body.add_group(1, false);
    outer.add(2, true);
    outer.add(3, false);
    auto& inner = outer.add_group(4, false);
    inner.add(5, true);
    inner.add(6, false);
    inner.add_group(7, false).add(2, true);
    return made;
}

std::size_t walk(const Group& group, const Message& message, int depth) {
    require(depth < 4, "groups nest no deeper than their definition");
    std::size_t fields = 0;
    std::size_t entries = 0;
    for (const auto& entry : group) {
        require(!entry.fields().empty(), "an instance has a field");
        require(++entries <= group.stated(), "there are at most as many instances as stated");
        require(
            &entry.fields().front() >= message.fields().data() && &entry.fields().back() <= &message.fields().back(),
            "an instance lies in its message");
        fields += entry.fields().size();
        std::size_t nested = 0;
        for (const Tag tag : {4U, 7U}) nested += walk(entry.group(tag), message, depth + 1);
        require(nested < entry.fields().size(), "nested groups are a part of their instance");
    }
    return fields;
}

}  // namespace

/// Arbitrary fields as groups: views stay inside the message, end, and agree with the validator.
MILLPOND_FUZZ_TARGET {
    static const auto known = dictionary();
    static const auto session = Dictionary::session_level(Version::fix44);
    const auto bytes = framed("35=D\x01" + fields_of(input));
    const auto frame = next_frame(bytes_of(bytes), bytes.size());
    if (!frame) return;
    Parser parser;
    std::vector<Field> spill(bytes.size() / 3 + 1);
    const auto message = parser.parse(*frame, spill);
    if (!message) return;
    const auto group = group_of(*message, known.message("D")->fields, 1);
    require(walk(group, *message, 0) < message->fields().size(), "a group is a part of its message");
    Validator validator{session, &known, {}};
    static_cast<void>(validator.check(*message));
}
