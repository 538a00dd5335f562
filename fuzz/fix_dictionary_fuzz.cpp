#include <string_view>

#include <millpond/fix/dictionary_xml.hpp>

#include "fuzz/fix_input.hpp"
#include "fuzz/fuzz_target.hpp"

/// Arbitrary bytes as a dictionary: refused with a reason, or read; then all its names are fields that it defines.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::fix;
    try {
        const auto dictionary = read_dictionary({reinterpret_cast<const char*>(input.data()), input.size()});
        for (const auto& [type, message] : dictionary.messages()) {
            require(type == message.type, "a message is found by its type");
            for (const auto& member : message.fields.members()) {
                require(dictionary.field(member.tag) != nullptr, "a message's fields are defined");
                require(!member.group || member.group->first() != 0, "a group begins with a field");
            }
        }
        static_cast<void>(dictionary.data_fields());
    } catch (const DictionaryError& error) {
        require(error.what()[0] != '\0', "a refusal has a reason");
    }
}
