#include <fmt/format.h>

#include <memory>
#include <string>

#include <millpond/files/pcap_reader.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/traffic/capture_format.hpp"
#include "apps/millpond/traffic/capture_text.hpp"
#include "apps/millpond/traffic/line_report.hpp"

namespace millpond::app {
namespace {

struct ReportOptions {
    std::string file;
    std::string format;
    std::string timestamps{"auto"};
    std::uint32_t gaps{traffic::kReportedGaps};
};

int report_capture(const ReportOptions& options) {
    files::PcapReader reader{options.file, timestamps_named(options.timestamps)};
    const auto format =
        options.format.empty() ? detected_format(options.file) : format_of_capture(options.file, options.format);
    traffic::LineReport report{numbers_of(format)};
    files::CapturedDatagram datagram;
    while (reader.next(datagram)) report.add(datagram);
    fmt::print("{}; format: {}\n{}", capture_text(reader), format.empty() ? "not recognized, no numbers" : format,
               report.text(options.gaps));
    if (!reader.error().empty()) to_stderr("millpond: {}\n", reader.error());
    return reader.error().empty() && reader.counts().datagrams != 0 ? 0 : 1;
}

}  // namespace

Command capture_report_command(Arguments& program) {
    auto* command = program.add_subcommand(
        "capture-report", "Report what each line of a capture carried, and which line was first by how much.");
    command->footer(
        "Examples:\n"
        "  millpond capture-report day.pcapng.gz\n"
        "  millpond capture-report day.pcap --timestamps metamako --gaps 1000\n"
        "Lines are destination addresses, for each interface of the capture. Lines with equal datagrams are compared.\n"
        "Exit codes: 0 good, 1 the file is damaged or has no datagrams, 2 usage error.");
    auto options = std::make_shared<ReportOptions>();
    command->add_option("FILE", options->file, "capture (pcap, pcapng), also as .gz or .zst")->required();
    command->add_option("--format", options->format, "format of the datagrams; detected if not given")->nonempty();
    add_timestamps(*command, options->timestamps);
    command->add_option("--gaps", options->gaps, "maximum number of gaps to list for each session of a line")
        ->check(whole_number(0, 1'000'000))
        ->capture_default_str();
    return {command, [options] { return report_capture(*options); }};
}

}  // namespace millpond::app
