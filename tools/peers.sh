#!/bin/bash
# One model behind llama.cpp's server and behind ours: small-v1 against each, both reports reviewed,
# then both on one page. Needs llama-server in PATH (Debian: package llama.cpp) and the model of
# `make models`; without them it says so and does nothing. Takes some ten minutes on two cores.
set -eu
cd "$(dirname "$0")/.."
out=${1:?a folder for the reports}
command -v llama-server >/dev/null || { echo "skipped: no llama-server in PATH" && exit; }
[ -e .models/SmolLM2-135M-Instruct.Q4_1.gguf ] || { echo "skipped: no model" && exit; }
mkdir -p "$out"

for engine in llama-server smollm2; do
    # 3: the run does not conform, which its report explains; whether it is valid is for the review.
    target/release/strata-bench run --profile "spec/profiles/$engine.json" --suite small-v1 \
        --quantization Q4_1 --track custom --track-notes "one model, two engines: $engine" \
        --background "${BACKGROUND:-none}" --out "$out/$engine" || [ $? -eq 3 ]
    review=$(target/release/strata-bench check "$out/$engine") || { echo "$review" && exit 1; }
    tail -1 <<<"$review"
done
target/release/strata-bench html "$out/llama-server" "$out/smollm2" --out "$out/peers.html"
target/release/strata-bench compare "$out/llama-server" "$out/smollm2"
