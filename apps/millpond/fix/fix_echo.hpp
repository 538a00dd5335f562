#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/engine/application.hpp>
#include <millpond/fix/dictionary.hpp>

namespace millpond::app {

/// Sends each NewOrderSingle, SecurityDefinition and Email back, with the body's fields by ascending tag and each group
/// after its count, in the application version of the message. Ignores an order with PossResend=Y whose ClOrdID it
/// knows, and rejects other messages. Only for tests: it keeps every ClOrdID.
class EchoApplication final : public engine::Application {
public:
    /// dictionary: the groups of versions without their own dictionary; must outlive this.
    explicit EchoApplication(const fix::Dictionary& dictionary) : dictionary_(&dictionary) {}

    void on_logon(engine::SessionLink& link) override;
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;

private:
    /// A field of the body, with its group if it counts one.
    struct Part {
        fix::Tag tag{0};
        std::size_t begin{0};
        std::size_t end{0};
    };

    void split(const fix::Dictionary& dictionary, const fix::Message& message);

    const fix::Dictionary* dictionary_;
    std::set<std::string, std::less<>> orders_;
    std::vector<Part> parts_;
};

}  // namespace millpond::app
