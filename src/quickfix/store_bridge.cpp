#include "src/quickfix/store_bridge.hpp"

#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/fix/file_store.hpp>

namespace millpond::quickfix {
namespace {

class Bridge final : public StoreBridge {
public:
    explicit Bridge(std::unique_ptr<fix::MessageStore> store, fix::FileStore* file, bool sync_each)
        : store_(std::move(store)), file_(file), sync_each_(sync_each) {}

    bool set(std::uint64_t sequence, const std::string& message) override {
        if (sequence != store_->next_sender()) store_->set_next_sender(sequence);
        if (!store_->store(message)) return false;
        store_->mark_written(sequence);
        uncounted_ = true;
        if (file_ == nullptr) return true;
        static_cast<void>(file_->maintain({}));  // a segment that cannot be created costs only history
        return !sync_each_ || !file_->sync_newest();
    }
    void get(std::uint64_t first, std::uint64_t last,
             const std::function<void(const char*, std::size_t)>& visit) const override {
        store_->retrieve_range(first, last,
                               [&](std::uint64_t, std::string_view message) { visit(message.data(), message.size()); });
    }
    std::uint64_t next_sender() const override { return store_->next_sender() - (uncounted_ ? 1 : 0); }
    std::uint64_t next_target() const override { return store_->next_target(); }
    void set_next_sender(std::uint64_t sequence) override {
        // The message was counted when it was stored.
        if (!(uncounted_ && sequence == store_->next_sender())) store_->set_next_sender(sequence);
        uncounted_ = false;
    }
    void set_next_target(std::uint64_t sequence) override { store_->set_next_target(sequence); }
    std::int64_t creation_utc_ns() const override { return store_->creation_utc_ns(); }
    void reset(std::int64_t utc_ns) override {
        store_->reset(utc_ns);
        uncounted_ = false;
    }
    void refresh() override { store_->refresh(); }

private:
    std::unique_ptr<fix::MessageStore> store_;
    fix::FileStore* file_;  // store_, if it is a FileStore
    bool sync_each_;
    bool uncounted_{false};  // QuickFIX has set the newest message and not yet incremented its number
};

}  // namespace

std::unique_ptr<StoreBridge> StoreBridge::open(const std::string& file, const Identity& identity,
                                               std::size_t data_bytes, bool sync_each, std::int64_t utc_ns) {
    if (file.empty()) {
        return std::make_unique<Bridge>(std::make_unique<fix::MemoryStore>(utc_ns, fix::ByteCount{data_bytes}), nullptr,
                                        false);
    }
    auto store =
        std::make_unique<fix::FileStore>(file, utc_ns,
                                         fix::FileStore::Options{.data_bytes = data_bytes,
                                                                 .identity = {.begin_string = identity.begin_string,
                                                                              .sender_comp_id = identity.sender_comp_id,
                                                                              .target_comp_id = identity.target_comp_id,
                                                                              .qualifier = identity.qualifier}});
    auto* opened = store.get();
    return std::make_unique<Bridge>(std::move(store), opened, sync_each);
}

}  // namespace millpond::quickfix
