// One side of an interop session, which the test kills at random: interop_program ours|quickfix initiator|acceptor PORT
// FOLDER COUNT. Sends the orders 1 to COUNT; after a restart, those that its store does not have yet. For each message
// of the peer it writes a line "TYPE ID NUMBER POSSDUP" to FOLDER/received before the message counts as received.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/async_sender.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/fix/file_store.hpp>

#include "bench/rivals/quickfix_peer.hpp"
#include "tests/engine/engine_pair.hpp"

namespace {

using namespace millpond;

constexpr std::chrono::microseconds kPace{300};
constexpr std::size_t kStoreBytes = 8U << 20U;

struct Arguments {
    bool initiates;
    std::uint16_t port;
    std::filesystem::path folder;
    std::uint64_t count;
    int received;
};

void note(const Arguments& arguments, std::string_view type, std::uint64_t id, std::uint64_t number, bool poss_dup) {
    char line[96];
    const int size =
        std::snprintf(line, sizeof line, "%.*s %llu %llu %d\n", static_cast<int>(type.size()), type.data(),
                      static_cast<unsigned long long>(id), static_cast<unsigned long long>(number), poss_dup ? 1 : 0);
    if (::write(arguments.received, line, static_cast<std::size_t>(size)) != size) std::abort();
}

std::uint64_t number_behind(std::string_view message, std::string_view tag) {
    const auto at = message.find(tag);
    return at == std::string_view::npos ? 0 : std::strtoull(message.data() + at + tag.size(), nullptr, 10);
}

class Noting final : public engine::Application {
public:
    explicit Noting(const Arguments& arguments) : arguments_(&arguments) {}
    fix::Verdict on_message(engine::SessionLink&, const fix::Message& message) override {
        note(*arguments_, message.msg_type(), message.unsigned_integer(11).value_or(0),
             message.unsigned_integer(34).value_or(0), message.boolean(43).value_or(false));
        return fix::Verdict::accepted;
    }

private:
    const Arguments* arguments_;
};

void run_ours(const Arguments& arguments) {
    const auto file = arguments.folder / "store";
    std::uint64_t last = 0;
    {
        const fix::FileStore store{file, core::utc_nanos(), {.data_bytes = kStoreBytes}};
        store.retrieve_range(1, 0, [&](std::uint64_t, std::string_view message) {
            last = std::max(last, number_behind(message,
                                                "\x01"
                                                "11="));
        });
    }
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Noting application{arguments};
    engine::IoThread io;
    engine::Acceptor* acceptor = nullptr;
    engine::Initiator initiator{io};
    engine::SessionHandle* handle = nullptr;
    engine::SessionOptions session{.config = {.sender_comp_id = "OURS", .target_comp_id = "QUICKFIX"},
                                   .dictionary = &dictionary,
                                   .store = {.bytes = kStoreBytes, .file = file}};
    if (arguments.initiates) {
        handle = &initiator.add(
            session,
            {.hosts = {{"127.0.0.1", arguments.port}},
             .reconnect = {.first = std::chrono::milliseconds{20}, .max = std::chrono::milliseconds{100}}},
            application);
    } else {
        acceptor = new engine::Acceptor{io, {.port = arguments.port}};  // lives as long as the process
        handle = &acceptor->add(session, application);
    }
    memory::MessagePool<engine::Order> pool{1024};
    engine::AsyncSender<engine::Order, engine::OrderEncoder> sender{*handle, pool};
    io.start();
    while (last < arguments.count) {
        if (sender.try_send(sender.try_make(engine::Order{last + 1, 1, {}})) == engine::Handed::queued) ++last;
        std::this_thread::sleep_for(kPace);
    }
    for (;;) ::pause();
}

/// The last order in QuickFIX's files whose number counts as used.
std::uint64_t last_quickfix_order(const std::filesystem::path& folder) {
    std::uint64_t next = 0;
    std::string body;
    if (!std::filesystem::exists(folder)) return 0;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        std::ifstream in{entry.path(), std::ios::binary};
        const std::string text{std::istreambuf_iterator<char>{in}, {}};
        if (entry.path().extension() == ".body") body = text;
        if (entry.path().extension() == ".seqnums") next = std::strtoull(text.c_str(), nullptr, 10);
    }
    std::uint64_t last = 0;
    for (auto at = body.find("8=FIX"); at != std::string::npos;) {
        const auto end = body.find("8=FIX", at + 1);
        const auto message = std::string_view{body}.substr(at, end - at);
        if (number_behind(message,
                          "\x01"
                          "34=") < next)
            last = std::max(last, number_behind(message,
                                                "\x01"
                                                "11="));
        at = end;
    }
    return last;
}

void run_quickfix(const Arguments& arguments) {
    const auto folder = arguments.folder / "quickfix";
    auto last = last_quickfix_order(folder);
    bench::QuickFixPeer peer{{.initiates = arguments.initiates,
                              .port = arguments.port,
                              .sender = "QUICKFIX",
                              .target = "OURS",
                              .folder = folder.string(),
                              .answers = false},
                             [&](const bench::QuickFixPeer::Received& message) {
                                 note(arguments, message.type, message.id, message.number, message.poss_dup);
                             }};
    while (last < arguments.count) {
        if (peer.logged_on()) static_cast<void>(peer.send_order(++last));
        std::this_thread::sleep_for(kPace);
    }
    for (;;) ::pause();
}

}  // namespace

int main(int count, char** words) {
    if (count != 6) return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string_view side{words[1]};
    const std::filesystem::path folder{words[4]};
    const Arguments arguments{.initiates = std::string_view{words[2]} == "initiator",
                              .port = static_cast<std::uint16_t>(std::strtoul(words[3], nullptr, 10)),
                              .folder = folder,
                              .count = std::strtoull(words[5], nullptr, 10),
                              .received = ::open((folder / "received").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644)};
    if (side == "ours") {
        run_ours(arguments);
    } else {
        run_quickfix(arguments);
    }
    return 0;
}
