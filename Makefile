# The two commands of the README are `make bench` and `make conformance`; everything else serves
# development. All of them find or install a cargo first: see tools/cargo.sh.

MSRV := 1.89
BIN := $(shell tools/cargo.sh $(MSRV))
ifeq ($(BIN),)
$(error no usable cargo: see the line above)
endif
export PATH := $(BIN):$(PATH)
ifneq ($(findstring /.rust/,$(BIN)),)
export CARGO_HOME := $(CURDIR)/.rust/cargo
export RUSTUP_HOME := $(CURDIR)/.rust/rustup
endif
export MSRV

OUT ?= bench-out
# What the programs are built as: release, or dev, whose binaries the tests have built already.
PROFILE ?= release
BINARIES := target/$(PROFILE:dev=debug)
CARGO := cargo --locked

.PHONY: bench conformance check deep peers models binaries
.DEFAULT_GOAL := check

# Measures the bundled model and reviews the report. OUT=DIR says where and must not exist yet;
# without it the last report in bench-out gives way.
bench: binaries
	$(if $(filter bench-out,$(OUT)),rm -rf bench-out)
	$(BINARIES)/strata-bench run --profile spec/profiles/embedded.json --suite embedded-v1 \
	    --track custom --track-notes 'bundled model, make bench' --quantization F16 --out $(OUT)
	$(BINARIES)/strata-bench check $(OUT)

binaries:
	$(CARGO) build --profile $(PROFILE) --bins

# Everything that must hold, as CI runs it. Prints `N passed, N failed, N skipped` last.
conformance:
	tools/conformance.sh

# The fast part, for every commit.
check:
	cargo fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test --workspace --quiet

# What takes longer: many cases for every property, in the release profile, the line twenty times
# over, a real model's speed. Its figures of record are in docs/deep.md.
deep: models binaries
	tools/deep.sh

# One model behind llama.cpp's server and behind ours: tools/peers.sh.
peers: models binaries
	tools/peers.sh $(if $(filter bench-out,$(OUT)),peers-out,$(OUT))

# Real models that are too large for the repository, with their digests checked.
models:
	python3 tools/models.py .models
