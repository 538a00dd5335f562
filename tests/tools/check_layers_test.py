"""tools/check_layers on small trees with planted breaches."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools")


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def plant(self, path, text=""):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, rules=None):
        if rules is None:
            rules = os.path.join(TOOLS, "layers.txt")
        else:
            self.plant("rules.txt", rules)
            rules = os.path.join(self.folder.name, "rules.txt")
        command = [sys.executable, os.path.join(TOOLS, "check_layers"), "--root", self.folder.name, "--rules", rules]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines(), run.stderr

    def refused(self, *expected):
        code, lines, _ = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), len(expected), lines)
        for line, want in zip(lines, expected):
            self.assertTrue(line.startswith(want), f"{line}\nshould begin with\n{want}")
            self.assertIn("; ", line)

    def accepted(self):
        code, lines, errors = self.check()
        self.assertEqual((code, lines, errors), (0, [], ""))

    def test_the_repository_itself_keeps_its_layers(self):
        run = subprocess.run([sys.executable, os.path.join(TOOLS, "check_layers")], capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_a_component_sees_those_below_it(self):
        self.plant("include/millpond/core/endian.hpp")
        self.plant("include/millpond/memory/region.hpp", "#include <cstddef>\n#include <millpond/core/endian.hpp>\n")
        self.plant("include/millpond/queue/ring.hpp", "#include <millpond/memory/region.hpp>\n#include <sys/mman.h>\n")
        self.accepted()

    def test_nothing_points_up(self):
        self.plant("include/millpond/queue/ring.hpp")
        self.plant("include/millpond/core/cell.hpp", "#pragma once\n\n#include <millpond/queue/ring.hpp>\n")
        self.refused("include/millpond/core/cell.hpp:3: core may not include queue (here millpond/queue/ring.hpp)")

    def test_components_of_one_height_do_not_see_each_other(self):
        self.plant("include/millpond/net/pcap.hpp")
        self.plant("src/feed/itch.cpp", "#include <millpond/net/pcap.hpp>\n")
        self.refused("src/feed/itch.cpp:1: feed may not include net")

    def test_the_message_says_how_to_fix_it(self):
        self.plant("include/millpond/net/pcap.hpp")
        self.plant("src/feed/itch.cpp", "#include <millpond/net/pcap.hpp>\n")
        _, lines, _ = self.check()
        self.assertIn("put net on the line of layer feed in", lines[0])

    def test_a_sink_never_sees_another_sink(self):
        self.plant("gateway/sinks/sink.hpp")
        self.plant("gateway/sinks/csv/csv_file.hpp")
        self.plant("gateway/sinks/tcp/client.cpp",
                   '#include "gateway/sinks/sink.hpp"\n#include "gateway/sinks/csv/csv_file.hpp"\n#include <openssl/ssl.h>\n')
        self.refused("gateway/sinks/tcp/client.cpp:2: sink-tcp may not include sink-csv")

    def test_a_sink_sees_of_the_gateway_only_sink_hpp(self):
        self.plant("gateway/receive/pipeline.hpp")
        self.plant("gateway/sinks/tcp/client.cpp", '#include "gateway/receive/pipeline.hpp"\n')
        self.refused("gateway/sinks/tcp/client.cpp:1: sink-tcp may not include gateway")

    def test_a_sink_sees_of_feed_only_the_headers_that_are_listed(self):
        self.plant("include/millpond/feed/quote_json.hpp")
        self.plant("include/millpond/feed/itch.hpp")
        self.plant("gateway/sinks/tcp/client.cpp",
                   "#include <millpond/feed/quote_json.hpp>\n#include <millpond/feed/itch.hpp>\n")
        self.refused("gateway/sinks/tcp/client.cpp:2: sink-tcp may not include feed")

    def test_boost_is_seen_in_service_and_the_web_sink_only(self):
        self.plant("service/http/server.cpp", "#include <boost/beast.hpp>\n")
        self.plant("gateway/sinks/web/client.cpp", "#include <boost/beast.hpp>\n")
        self.plant("gateway/metrics_page.cpp", "#include <boost/beast.hpp>\n")
        self.plant("src/net/receiver.cpp", "#include <boost/asio.hpp>\n")
        self.refused("gateway/metrics_page.cpp:1: gateway may not include boost",
                     "src/net/receiver.cpp:1: net may not include boost")

    def test_kafka_and_mosquitto_are_seen_in_their_sinks_only(self):
        both = "#include <librdkafka/rdkafka.h>\n#include <mosquitto.h>\n"
        self.plant("gateway/sinks/kafka/producer.cpp", "#include <librdkafka/rdkafka.h>\n")
        self.plant("gateway/sinks/mqtt/link.cpp", "#include <mosquitto.h>\n")
        self.plant("gateway/gateway.cpp", both)
        self.plant("gateway/sinks/csv/csv_sink.cpp", both)
        self.refused("gateway/gateway.cpp:1: gateway may not include kafka",
                     "gateway/gateway.cpp:2: gateway may not include mosquitto",
                     "gateway/sinks/csv/csv_sink.cpp:1: sink-csv may not include kafka",
                     "gateway/sinks/csv/csv_sink.cpp:2: sink-csv may not include mosquitto")

    def test_openssl_is_seen_in_engine_service_and_the_tcp_sink_only(self):
        for path in ("src/engine/io/tls.cpp", "service/tls.cpp", "gateway/sinks/tcp/stream.cpp", "gateway/tls.cpp", "src/fix/session.cpp"):
            self.plant(path, "#include <openssl/ssl.h>\n")
        self.refused("gateway/tls.cpp:1: gateway may not include openssl",
                     "src/fix/session.cpp:1: fix may not include openssl")

    def test_the_foundations_need_nothing_but_the_standard_library_and_linux(self):
        self.plant("include/millpond/memory/region.hpp", "#include <fmt/format.h>\n")
        self.refused("include/millpond/memory/region.hpp:1: memory may not include fmt")

    def test_feed_opens_no_socket_header(self):
        self.plant("src/feed/quotes.cpp", "#include <sys/socket.h>\n")
        self.refused("src/feed/quotes.cpp:1: feed may not include linux")

    def test_feed_and_fix_read_no_clock(self):
        self.plant("include/millpond/core/clock.hpp")
        self.plant("src/feed/quotes.cpp", "\nconst auto now = std::chrono::system_clock::now();\n")
        self.plant("src/fix/session.cpp", "const auto now = core::utc_nanos();\n#include <millpond/core/clock.hpp>\n")
        self.refused("src/feed/quotes.cpp:2: feed must not use `system_clock::now`",
                     "src/fix/session.cpp:1: fix must not use `utc_nanos(`",
                     "src/fix/session.cpp:2: fix must not use `clock.hpp`")

    def test_feed_and_fix_call_no_socket(self):
        self.plant("src/feed/quotes.cpp", "void f(int s) {\n    send(s, bytes, size, 0);\n    lane.send(message, 1);\n}\n")
        self.refused("src/feed/quotes.cpp:2: feed must not use `send(s,`")

    def test_a_library_component_never_prints_or_exits(self):
        self.plant("src/market/ring.cpp", 'void f() {\n    std::cerr << "lost";\n    exit(1);\n}\n')
        self.refused("src/market/ring.cpp:2: market must not use `std::cerr`",
                     "src/market/ring.cpp:3: market must not use `exit(`")

    def test_comments_and_strings_are_not_code(self):
        self.plant("src/feed/quotes.cpp",
                   '// #include <millpond/net/x.hpp> utc_nanos()\n/*\n#include <boost/asio.hpp>\n*/\n'
                   'auto a = "utc_nanos()";\nauto b = R"x(\n#include <boost/asio.hpp>\n)x";\nauto c = 1\'000;\n')
        self.accepted()

    def test_code_after_a_digit_separator_is_still_code(self):
        self.plant("src/feed/quotes.cpp", "auto a = 1'000; auto b = utc_nanos(); auto c = 'x';\n")
        self.refused("src/feed/quotes.cpp:1: feed must not use `utc_nanos(`")

    def test_an_unknown_folder_is_a_breach(self):
        self.plant("helpers/stuff.hpp")
        self.plant("include/millpond/sundry/stuff.hpp")
        self.refused("helpers/stuff.hpp:1: no layer covers this folder",
                     "include/millpond/sundry/stuff.hpp:1: no layer covers this folder")

    def test_an_unknown_library_is_a_breach(self):
        self.plant("gateway/main.cpp", "#include <folly/FBString.h>\n")
        self.refused("gateway/main.cpp:1: <folly/FBString.h> is of no known library")

    def test_a_header_that_does_not_exist_is_a_breach(self):
        self.plant("gateway/main.cpp", '#include "gateway/gone.hpp"\n#include <millpond/core/gone.hpp>\n')
        self.refused("gateway/main.cpp:1: no such header here", "gateway/main.cpp:2: no such header here")

    def test_inner_headers_are_seen_by_their_component_and_its_tests_only(self):
        self.plant("include/millpond/memory/detail/depot.hpp")
        self.plant("include/millpond/memory/pool.hpp", "#include <millpond/memory/detail/depot.hpp>\n")
        self.plant("tests/memory/depot_test.cpp", "#include <millpond/memory/detail/depot.hpp>\n")
        self.plant("src/queue/ring.cpp", "#include <millpond/memory/detail/depot.hpp>\n")
        self.refused("src/queue/ring.cpp:1: millpond/memory/detail/depot.hpp is an inner part of memory")

    def test_a_detail_header_is_seen_by_the_layers_named_after_its_own(self):
        self.plant("include/millpond/engine/detail/sender.hpp")
        self.plant("src/engine/session/pump.cpp", "#include <millpond/engine/detail/sender.hpp>\n")
        self.accepted()

    def test_the_folders_of_the_engine_are_in_no_circle(self):
        self.plant("src/engine/session/host.hpp", '#include "src/engine/standby/link.hpp"\n')
        self.plant("src/engine/standby/link.hpp", '#include "src/engine/session/host.hpp"\n')
        self.refused("src/engine/standby/link.hpp:1: engine-standby may not include engine-session")

    def test_tests_see_what_their_component_sees(self):
        self.plant("include/millpond/memory/region.hpp")
        self.plant("include/millpond/market/board.hpp")
        self.plant("tests/queue/ring_test.cpp",
                   "#include <gtest/gtest.h>\n#include <millpond/memory/region.hpp>\n#include <millpond/market/board.hpp>\n")
        self.refused("tests/queue/ring_test.cpp:3: tests-queue may not include market")

    def test_build_folders_are_not_looked_at(self):
        self.plant("build/dev/generated.cpp", "#include <boost/asio.hpp>\n")
        self.plant("node/node_modules/x/y.h", "#include <boost/asio.hpp>\n")
        self.accepted()

    def test_rules_that_name_an_unknown_layer_are_refused(self):
        code, _, errors = self.check("layer core : src/core : std mermory\n")
        self.assertEqual(code, 2)
        self.assertIn("layer core may include mermory, which no line names", errors)

    def test_a_line_of_no_known_kind_is_refused(self):
        code, _, errors = self.check("layer core : src/core\n")
        self.assertEqual(code, 2)
        self.assertIn("rules.txt:1: neither", errors)


if __name__ == "__main__":
    unittest.main()
