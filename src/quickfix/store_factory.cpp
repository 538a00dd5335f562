#include <millpond/quickfix/store_factory.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/quickfix/store_bridge.hpp"

namespace millpond {
namespace quickfix {
namespace {

std::int64_t now_utc_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::uint64_t number(int sequence) { return static_cast<std::uint64_t>(sequence); }

class Store : public FIX::MessageStore {
public:
    explicit Store(std::unique_ptr<StoreBridge> bridge) : bridge_(std::move(bridge)) {}

    bool set(int sequence, const std::string& message) throw(FIX::IOException) override {
        if (!bridge_->set(number(sequence), message)) throw FIX::IOException("the store refuses the message");
        return true;
    }
    void get(int first, int last, std::vector<std::string>& messages) const throw(FIX::IOException) override {
        messages.clear();
        if (last < first) return;  // 0 means all in millpond, and nothing here
        bridge_->get(number(first), number(last),
                     [&messages](const char* bytes, std::size_t size) { messages.emplace_back(bytes, size); });
    }
    int getNextSenderMsgSeqNum() const throw(FIX::IOException) override {
        return static_cast<int>(bridge_->next_sender());
    }
    int getNextTargetMsgSeqNum() const throw(FIX::IOException) override {
        return static_cast<int>(bridge_->next_target());
    }
    void setNextSenderMsgSeqNum(int sequence) throw(FIX::IOException) override {
        bridge_->set_next_sender(number(sequence));
    }
    void setNextTargetMsgSeqNum(int sequence) throw(FIX::IOException) override {
        bridge_->set_next_target(number(sequence));
    }
    void incrNextSenderMsgSeqNum() throw(FIX::IOException) override {
        bridge_->set_next_sender(bridge_->next_sender() + 1);
    }
    void incrNextTargetMsgSeqNum() throw(FIX::IOException) override {
        bridge_->set_next_target(bridge_->next_target() + 1);
    }
    FIX::UtcTimeStamp getCreationTime() const throw(FIX::IOException) override {
        constexpr std::int64_t kSecond = 1000000000;
        const auto utc_ns = bridge_->creation_utc_ns();
        return FIX::UtcTimeStamp(static_cast<time_t>(utc_ns / kSecond), static_cast<int>(utc_ns % kSecond), 9);
    }
    void reset() throw(FIX::IOException) override { bridge_->reset(now_utc_ns()); }
    void refresh() throw(FIX::IOException) override { bridge_->refresh(); }

private:
    std::unique_ptr<StoreBridge> bridge_;
};

}  // namespace

FIX::MessageStore* StoreFactory::create(const FIX::SessionID& session) {
    std::string file;
    if (!options_.folder.empty()) {
        file = session.toStringFrozen();
        for (auto& c : file) {
            if (c == '/' || c == ':' || c == '>') c = '-';
        }
        file = options_.folder + "/" + file + ".store";
    }
    StoreBridge::Identity identity;
    identity.begin_string = session.getBeginString().getString();
    identity.sender_comp_id = session.getSenderCompID().getString();
    identity.target_comp_id = session.getTargetCompID().getString();
    identity.qualifier = session.getSessionQualifier();
    return new Store(StoreBridge::open(file, identity, options_.data_bytes, options_.sync_each, now_utc_ns()));
}

void StoreFactory::destroy(FIX::MessageStore* store) { delete store; }

}  // namespace quickfix
}  // namespace millpond
