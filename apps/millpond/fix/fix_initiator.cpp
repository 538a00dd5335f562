#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/engine/async_sender.hpp>
#include <millpond/memory/message_pool.hpp>

#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "apps/millpond/fix/fix_flags.hpp"
#include "apps/millpond/fix/fix_run.hpp"
#include "apps/millpond/fix/fix_script.hpp"
#include "fixd/applications/print_application.hpp"
#include "fixd/fix_engine.hpp"

namespace millpond::app {
namespace {

constexpr std::size_t kMessages = 1024;
constexpr std::chrono::milliseconds kFullWait{1};
constexpr int kLookForStopMs = 100;

struct FixInitiatorOptions {
    FixFlags flags;
    std::string script{"-"};
    double linger{1};
    std::uint64_t expect{0};
    bool stay{false};
    bool fields{false};
};

/// Logs messages that were not sent.
class Listener final : public engine::SendListener<ScriptMessage> {
public:
    void on_sent(const engine::Sent&) noexcept override { done_.fetch_add(1, std::memory_order_release); }
    void on_failed(const ScriptMessage& message, engine::SendFailure failure, std::uint64_t line) noexcept override {
        to_stderr("millpond: line {}: {} not sent: {}\n", line,
                  std::string_view{message.type.data(), message.type_bytes}, name(failure));
        failed_.fetch_add(1, std::memory_order_relaxed);
        done_.fetch_add(1, std::memory_order_release);
    }
    [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> failed_{0};
};

/// Reads the script on a separate thread and passes its messages to the session.
class Script {
public:
    using Sender = engine::AsyncSender<ScriptMessage, ScriptEncoder>;

    Script(const std::string& file, engine::SessionHandle& session)
        : sender_(session, pool_, {}, {.lane_capacity = kMessages}, &listener_),
          file_(file == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (!file_) throw std::system_error(errno, std::system_category(), "cannot read " + file);
    }
    ~Script() {
        stop_.store(true, std::memory_order_relaxed);
        if (thread_.joinable()) thread_.join();
    }
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;

    void start() {
        thread_ = std::thread{[this] { run(); }};
    }

    /// Whether the script has ended and all of its messages were sent or have failed.
    [[nodiscard]] bool done() const { return over() && listener_.done() == handed_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t faults() const { return faults_.load(std::memory_order_relaxed) + listener_.failed(); }

private:
    [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }

    void run() {
        std::string text;
        std::uint64_t number = 0;
        while (read_more(text)) {
            for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
                send(text.substr(0, end), ++number);
                text.erase(0, end + 1);
            }
        }
        if (!text.empty()) send(text, ++number);
        over_.store(true, std::memory_order_release);
    }

    /// Reads more of the script; false at its end, or when stopped.
    bool read_more(std::string& text) {
        std::array<char, 4096> buffer;
        while (!stop_.load(std::memory_order_relaxed)) {
            pollfd waiting{.fd = file_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, kLookForStopMs) <= 0) continue;
            const auto got = ::read(file_.get(), buffer.data(), buffer.size());
            if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
            if (got < 0) {
                to_stderr("millpond: cannot read the script: {}\n", std::generic_category().message(errno));
                faults_.fetch_add(1, std::memory_order_relaxed);
            }
            return got > 0;
        }
        return false;
    }

    void send(const std::string& line, std::uint64_t number) {
        ScriptMessage read;
        try {
            if (!read_script_line(line, read)) return;
        } catch (const std::runtime_error& error) {
            to_stderr("millpond: line {}: {}\n", number, error.what());
            faults_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        auto draft = sender_.try_make(read);
        while (!draft && !stop_.load(std::memory_order_relaxed)) {
            std::this_thread::sleep_for(kFullWait);
            draft = sender_.try_make(read);
        }
        if (!draft) return;
        handed_.fetch_add(1, std::memory_order_relaxed);
        // A full lane leaves the draft unchanged. NOLINTNEXTLINE(bugprone-use-after-move)
        while (sender_.try_send(std::move(draft), {.token = number}) == engine::Handed::full &&
               !stop_.load(std::memory_order_relaxed)) {
            std::this_thread::sleep_for(kFullWait);
        }
    }

    memory::MessagePool<ScriptMessage> pool_{kMessages};
    Listener listener_;
    Sender sender_;
    core::Descriptor file_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> handed_{0};
    std::atomic<std::uint64_t> faults_{0};
    std::thread thread_;
};

fixd::EngineConfig config_of(const FixInitiatorOptions& options) {
    settings::Errors errors;
    auto config = options.flags.read(errors);
    errors.check([&] { complete(config); });
    errors.throw_if_any();
    config.quiet = true;  // the application prints logons and logouts; errors are logged
    return config;
}

/// Returns the session that the script is sent to.
const fixd::SessionSettings& scripted(const fixd::EngineConfig& config) {
    const auto first =
        std::ranges::find_if(config.sessions, [](const auto& session) { return !session.hosts.empty(); });
    if (first == config.sessions.end()) {
        throw UsageError{"fix initiator: no session with hosts: give --config with a [[session]], or --session"};
    }
    return *first;
}

int run(const FixInitiatorOptions& options) {
    const auto config = config_of(options);
    const auto first = scripted(config);
    service::Log log{config.log_level, config.log_format};
    std::atomic<std::uint64_t> printed{0};
    fixd::FixEngine engine{config,
                           [&](const fixd::SessionSettings& session,
                               const fix::Dictionary* dictionary) -> std::unique_ptr<engine::Application> {
                               const auto form =
                                   options.fields ? fixd::FixPrinter::Form::fields : fixd::FixPrinter::Form::one_line;
                               return std::make_unique<fixd::PrintApplication>(
                                   fixd::FixPrinter{form, dictionary, hidden_of(config, session)}, &printed);
                           },
                           log};
    if (engine.sessions().empty()) throw UsageError{"fix initiator: a standby sends no script: run `fix acceptor`"};
    Script script{options.script, *engine.sessions().front()};
    script.start();
    std::optional<std::int64_t> since;
    const auto linger_ns = static_cast<std::int64_t>(options.linger * 1e9);
    const auto read_again = [&] {
        auto next = config_of(options);
        auto session = scripted(next);
        session.enabled = first.enabled;
        if (!(session == first)) throw UsageError{"the session that the script goes to cannot change"};
        return next;
    };
    run_engine(engine, log, options.flags.has_file() ? ReadAgain{read_again} : ReadAgain{}, [&] {
        if (options.stay || !script.done()) return false;
        if (options.expect != 0) return printed.load(std::memory_order_acquire) >= options.expect;
        if (!since) since = core::monotonic_nanos();
        return core::monotonic_nanos() - *since >= linger_ns;
    });
    return script.faults() == 0 ? 0 : 1;
}

}  // namespace

Command fix_initiator_command(Arguments& fix) {
    auto options = std::make_shared<FixInitiatorOptions>();
    auto* command = fix.add_subcommand("initiator", "Connect FIX sessions, send a script and print what arrives.");
    options->flags.add_to(*command);
    command->add_option("--script", options->script, "file with one message on each line; - is stdin")
        ->type_name("FILE")
        ->capture_default_str();
    command->add_option("--linger", options->linger, "time to wait for answers after the script, before the Logout")
        ->type_name("SECONDS")
        ->capture_default_str()
        ->check(number_between(0, 1e6));
    command->add_option("--expect", options->expect, "wait for this many messages instead")
        ->type_name("N")
        ->check(whole_number());
    command->add_flag("--stay", options->stay, "stay connected after the script until a signal");
    command->add_flag("--fields", options->fields, "print one line for each field, with its name and meaning");
    command->footer(
        "A line of the script is a message like 35=D|11=a|55=MSFT|54=1|38=100|40=1|60=20261121-09:30:00|; the session "
        "fills in\nBeginString, BodyLength, MsgSeqNum, CompIDs, SendingTime and CheckSum. Lines that begin with # "
        "are "
        "ignored. The script goes\nto the first session; exit code 1: a line was not sent.\n"
        "Examples:\n"
        "  millpond fix initiator --session sender=DESK,target=VENUE,hosts=127.0.0.1:5001 --script orders.txt\n"
        "  millpond fix initiator --config desk.toml --stay --poll spin --pin 2 --realtime 20\n"
        "  echo '35=D|11=a|55=MSFT|54=1|38=100|40=1|60=20261121-09:30:00|' |\n"
        "    millpond fix initiator --session sender=DESK,target=VENUE,hosts=a.example:5001+b.example:5001,tls=true");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
