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

/// Sends each NewOrderSingle, SecurityDefinition and Email back, the body's fields by ascending tag and each group
/// after its count; but not an order with PossResend=Y whose ClOrdID it knows. It rejects other messages. It answers in
/// the application version of the message. For tests: it keeps every ClOrdID.
class EchoApplication final : public engine::Application {
public:
    /// dictionary: tells which fields belong to groups, in versions without a dictionary of their own; must outlive
    /// this.
    explicit EchoApplication(const fix::Dictionary& dictionary) : dictionary_(&dictionary) {}

    void on_logon(engine::SessionLink& link) override;
    [[nodiscard]] fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;

private:
    /// A field of the body with the group that it counts.
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
