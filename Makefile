# millpond's commands. `make help` lists them; CMakePresets.json holds the builds behind them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS ?= $(shell nproc)
FEED ?=
SPEED ?= 1

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build/%/build.ninja: CMakeLists.txt CMakePresets.json
	cmake --preset $*

deps-%:
	@tools/install_packages $(subst +, ,$*)

test: deps-build+test ## install what it needs, build `dev`, run every test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)

clean: ## remove all builds
	rm -rf build

.PHONY: help test clean
