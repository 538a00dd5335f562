#include <fmt/format.h>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/journal/catalog.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"

namespace millpond::app {
namespace {

std::string_view to_string(journal::SegmentState state) noexcept {
    switch (state) {
        case journal::SegmentState::waiting: return "waiting";
        case journal::SegmentState::growing: return "growing";
        case journal::SegmentState::ended: return "ended";
        case journal::SegmentState::unreadable: return "unreadable";
    }
    return "unknown";
}

int list(const std::string& folder) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const auto segments = segments_of(folder);
    double total = 0;
    fmt::print(
        "segment     state       ring             session              records                  started (UTC)    "
        "        on disk\n");
    for (const auto& segment : segments) {
        const auto mib = static_cast<double>(segment.disk_bytes) / kMiB;
        total += mib;
        if (segment.state == journal::SegmentState::unreadable) {
            fmt::print("{:010}  {:<10}  {}\n", segment.file.ordinal, to_string(segment.state), segment.error);
        } else if (segment.state == journal::SegmentState::waiting) {
            fmt::print("{:010}  {:<10}  {:>88.1f} MiB\n", segment.file.ordinal, to_string(segment.state), mib);
        } else {
            fmt::print("{:010}  {:<10}  {:<16} {:>7}  {:>12} to {:<12} {:<24} {:>9.1f} MiB\n", segment.file.ordinal,
                       to_string(segment.state), segment.ring, segment.session, segment.first_record,
                       segment.next_record - 1, utc_text(segment.begun_utc_ns), mib);
            if (!segment.error.empty()) fmt::print("            damaged     {}\n", segment.error);
        }
    }
    fmt::print("{:.1f} MiB in all\n", total);
    return 0;
}

Command list_command(Arguments& group) {
    auto* command = group.add_subcommand("ls", "List the segments of a journal.");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "the journal's folder")->required();
    return {command, [folder] { return list(*folder); }};
}

}  // namespace

Command journal_command(Arguments& program) {
    auto* group = program.add_subcommand("journal", "List, print, export and verify the journal of a gateway.");
    group->require_subcommand(1);
    group->footer(
        "Examples:\n"
        "  millpond journal ls /var/lib/millpond/journal\n"
        "  millpond journal cat /var/lib/millpond/journal --since 2026-11-20T14:30:00 --symbol AAPL --follow\n"
        "  millpond journal verify /var/lib/millpond/journal\n"
        "  millpond journal export /var/lib/millpond/journal csv day.csv");
    const std::vector<Command> commands{list_command(*group), journal_cat_command(*group),
                                        journal_export_command(*group), journal_verify_command(*group)};
    return {group, [commands] {
                try {
                    for (const auto& command : commands) {
                        if (command.options->parsed()) return command.run();
                    }
                } catch (const NoJournal& error) {
                    to_stderr("{}\n", error.what());
                    return kNoJournal;
                }
                throw UsageError{"journal: a subcommand is needed"};
            }};
}

}  // namespace millpond::app
