# millpond's commands; `make help` lists them. CMakePresets.json holds the builds behind them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS ?= $(shell nproc)
lossless_results := --results bench/results/soak --markdown docs/reference/lossless.md

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps-%:
	@tools/install_packages $(subst +, ,$*)

configure-%: deps-build
	@cmake --preset $* >build-$*.log 2>&1 || { cat build-$*.log; exit 1; }; rm -f build-$*.log

configure-asan: deps-check # clang

# Not silent: with rivals it takes minutes.
configure-bench: deps-build
	cmake --preset bench -DMILLPOND_BUILD_APPS=ON -DMILLPOND_RIVALS=$(if $(RIVALS),ON,OFF)

build-%: configure-%
	cmake --build --preset $* -j $(JOBS)

demo: $(if $(FEED),can-read-feed) build-demo ## install what it needs, build, and run the gateway on a generated feed [FEED=file.pcap|file.itch] [FORMAT=itch|quotes|...] [SPEED=N|max]
	@build/demo/apps/millpond/millpond demo $(if $(FEED),--replay '$(FEED)') $(if $(FORMAT),--format '$(FORMAT)') $(if $(SPEED),--speed '$(SPEED)')

# Before the build, which takes minutes.
can-read-feed:
	@test -r '$(FEED)' || { echo "make demo: cannot read FEED=$(FEED)"; exit 2; }

ifdef COMPONENT
test: deps-build+test configure-dev
	cmake --build build/dev -j $(JOBS) --target tests/$(COMPONENT)/all
	ctest --preset dev -j $$((2 * $(JOBS))) -L '^$(COMPONENT)$$'
else
# Failed tests of C++ do not keep the others from running. The last two run side by side: while Node's run, most of Python's
# time is for packages and compilation.
test: deps-build+test+python npm build-dev ## install what it needs and run the tests, or those of one component [COMPONENT=fix]
	@code=0; $(MAKE) --no-print-directory dev || code=$$?; \
	echo "the tests of the npm package and of the Python package: a few minutes; each is printed once it ends"; \
	$(MAKE) --no-print-directory -k -j 2 --output-sync=target DEV_IS_DONE=1 node python || code=$$?; \
	[ $$code = 0 ] || echo "some tests failed; the first ones are above"; \
	exit $$code
endif

node: npm ## run the tests of the npm package
	node/run_tests

python: deps-python $(if $(DEV_IS_DONE),,dev) ## run the tests of the Python package in their own virtual environment
	python/run_tests --junit-xml=$(CURDIR)/build/python/tests.xml

python-each: python ## the same with every other CPython from 3.10 on that is in PATH or of pyenv
	@for version in 3.10 3.12 3.13 3.14; do \
		for python in "$$HOME"/.pyenv/versions/$$version.*/bin/python3 python$$version; do \
			"$$python" -c '' 2>/dev/null || continue; \
			echo "$$python"; PYTHON=$$python python/run_tests || exit 1; break; \
		done; \
	done

wheel: deps-python+aarch64+wheel ## build wheels for this machine and AArch64, and a source distribution: build/python/dist (root)
	python/build_wheel --aarch64

wheel-test: wheel ## install those wheels and use them in a bare Debian 12 tree (root)
	python/test_wheel build/python/dist

# Debian's, unless there is another one that brought its own Node.
npm:
	@command -v npm >/dev/null || tools/install_packages node

check: format-check layers test headers docs lint soak-minute asan tsan callgrind fuzz aarch64 ## run the tests and all other checks: formatting, lint, layers, headers, documentation, sanitizers, counts, a short soak

check-all: check dev python-each wheel-test ## everything in check, the wheels, and comparisons with other packages at full size: about twenty minutes more
	MILLPOND_LONG_TESTS=1 python/run_tests test_peers.py test_fix.py test_scan.py

# Results without all rivals would have fewer rows than the stored ones, so they stay in the build folder.
bench: deps-bench+python build-bench build-release ## run all benches of C++ and Python, and the highest rates without a loss: the HTML report, and with RIVALS=1 bench/results and docs/reference [QUICK=1] [RIVALS=1]
	python/run_benches $(if $(QUICK),--quick,--results)
	MILLPOND_KAFKA_JARS=$${MILLPOND_KAFKA_JARS:-$$(tools/fetch_kafka)} bench/run --build build/bench $(if $(QUICK),--quick) $(if $(RIVALS),,--results build/bench/results)
	python3 tools/soak/lossless.py --program build/release/apps/millpond/millpond $(if $(QUICK),--quick,$(lossless_results))
	@echo "not run here: 'make soak', and the benches of Node.js ('npm run bench' in node/)"

docs: deps-docs npm program-dev ## build the documentation site in build/docs/site, and check links, commands and snippets
	tools/docs/check --program build/dev/apps/millpond/millpond
	tools/docs/build build/dev/apps/millpond/millpond

pictures: program-dev deps-test npm ## regenerate the README's pictures of the page and of top: docs/pictures
	MILLPOND_DRAW_PICTURES=1 tests/web/run_tests build/dev/apps/millpond/millpond build/screenshots pictures.test.js

format: deps-check ## format every C++ file
	tools/check_format --fix

format-check: deps-check
	tools/check_format

layers:
	tools/check_layers

# The dev build's program without its tests, and with it every generated file.
program-dev: deps-test configure-dev
	cmake --build build/dev -j $(JOBS) --target millpond

headers: program-dev
	cmake --build build/dev -j $(JOBS) --target all_verify_interface_header_sets

lint: deps-check program-dev
	tools/lint build/dev

dev: npm # the page's tests
# Most tests wait for sockets, files and processes: twice as many at a time as processors.
# REPEAT_FAILED: .ci/repeat_failed, in CI.
dev asan tsan: %: deps-test build-%
	$(REPEAT_FAILED) ctest --preset $* -j $$((2 * $(JOBS))) --output-junit $(CURDIR)/build/$*/tests.xml

callgrind: deps-test deps-build ## compare the instruction counts of the hot paths with the recorded ones
	cmake --preset callgrind
	cmake --build build/callgrind -j $(JOBS) --target bench/callgrind/all
	ctest --test-dir build/callgrind/bench/callgrind --output-on-failure --output-junit ../../tests.xml

fuzz: deps-check deps-build ## run every fuzz target briefly
	cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS) --target fuzz/all
	ctest --test-dir build/fuzz/fuzz -j $(JOBS) --output-on-failure --output-junit ../tests.xml

aarch64: deps-aarch64 ## cross-compile core, memory and queue, and run their tests under qemu-user
	tools/check_aarch64

soak: build-release ## run all sinks for a long time at a high rate, and fail if memory, latency or accounts are wrong [MINUTES=30] [RATE=N]
	MILLPOND_KAFKA_JARS=$${MILLPOND_KAFKA_JARS:-$$(tools/fetch_kafka)} python3 tools/soak --program build/release/apps/millpond/millpond \
	    --minutes $(or $(MINUTES),30) $(if $(RATE),--rate $(RATE)) --results bench/results/soak --markdown docs/reference/soak.md

lossless: build-release ## find the highest rate without a loss, with no broker, for the ring and each sink, and what fails first
	python3 tools/soak/lossless.py --program build/release/apps/millpond/millpond $(if $(QUICK),--quick,$(lossless_results))

soak-minute: program-dev
	python3 tools/soak --program build/dev/apps/millpond/millpond --minutes 1 --rate 5000

build-package: deps-build+package
	cmake --preset package -DMILLPOND_PACKAGE_VERSION="$$(tools/release/version $(VERSION))"
	cmake --build --preset package -j $(JOBS)

package: build-package ## build Debian packages (millpond, libmillpond-dev, millpond-fix): build/package/packages
	rm -rf build/package/packages
	cd build/package && umask 022 && cpack

package-test: package ## install, run, upgrade and remove these packages in a bare Debian 12 tree (root)
	tools/test_package build/package/packages

# VERSION: of a release; the checkout must be ready for it (tools/release/version).
release: deps-release+python+aarch64+wheel npm build-package ## make what users download: an archive for any Linux, an image and an RPM of it, Debian, npm and Python packages, and lists of them: build/release-files [VERSION=0.2.0] [SIGN_KEY=ID] (root)
	tools/release/make build/package build/release-files "$$(tools/release/version $(VERSION))" $(SIGN_KEY)

release-test: release ## install and run each of these files where nothing else is installed (root)
	tools/test_package build/release-files
	tools/release/test_npm build/release-files
	tools/release/test_library build/release-files build/package/release-tools-*/bin/conan
	tools/release/test_portable build/release-files/millpond-*-linux-$$(uname -m).tar.gz
	tools/release/test_image build/release-files/millpond-*-amd64.oci.tar
	tools/release/test_podman build/release-files/millpond-*-amd64.oci.tar
	tools/release/test_arm64 build/release-files "$$(tools/arm64_tree)"
	python/test_wheel build/release-files
	tools/release/test_rpm build/release-files/millpond-*-linux-$$(uname -m).tar.gz
	build/package/release-tools-*/bin/python tools/release/test_deploy build/release-files/millpond-*-linux-$$(uname -m).tar.gz

# Not in `check`: it builds everything again.
release-check: release ## make these files again, in another tree without a compiler cache, and compare their bytes (root)
	tools/release/check

pgo: deps-build ## build the program with profile-guided optimisation, using its demo: build/pgo
	tools/build_pgo

clean: ## remove all builds
	rm -rf build

.PHONY: can-read-feed docs help demo test node python python-each wheel wheel-test npm dev check check-all pictures format format-check layers headers lint asan tsan bench callgrind fuzz aarch64 soak lossless soak-minute package package-test release release-test release-check pgo clean
