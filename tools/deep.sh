#!/bin/bash
# The long tests: many cases for every property, in the release profile; then the line twenty times
# over, its pages in a browser, and the speed of a real model. Prints a line a step and the figures.
set -eu
cd "$(dirname "$0")/.."
export INSTA_UPDATE=no PROPTEST_CASES="${PROPTEST_CASES:-2048}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

echo "every test in the release profile, $PROPTEST_CASES cases a property"
cargo --locked test --release --workspace --quiet -- --nocapture >"$out/tests" 2>&1 || {
    cat "$out/tests"
    exit 1
}
awk '/^test result:/ {n += $4} END {print n " passed"}' "$out/tests"

echo "10,000 honest runs, reviewed and made again"
PROPTEST_CASES=10000 cargo --locked test --release -p strata-harness --lib --quiet honest_runs \
    >"$out/honest" 2>&1 || { cat "$out/honest" && exit 1; }
sed -n 's/^test result: .*finished in /in /p' "$out/honest"

echo "embedded-v1 twenty times: every report reviewed, every answer the same"
for run in $(seq 20); do
    target/release/strata-bench run --profile spec/profiles/embedded.json --suite embedded-v1 \
        --track custom --track-notes "soak $run" --quantization F16 --out "$out/$run" \
        >"$out/said" 2>&1 || { cat "$out/said" && exit 1; }
    target/release/strata-bench check "$out/$run" >"$out/review" || { cat "$out/review" && exit 1; }
    python3 -c 'import json, sys
for request in json.load(open(sys.argv[1]))["requests"]:
    print([request[key] for key in ("id", "finish_reason", "tokens", "evaluation")])' \
        "$out/$run/results.json" >"$out/answers.$run"
    cmp "$out/answers.1" "$out/answers.$run"
done
echo "20 runs accepted, answers equal"

echo "two of the runs compared, and pages in a browser"
target/release/strata-bench compare "$out/1" "$out/2" >"$out/said" || { cat "$out/said" && exit 1; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
# page NAME REPORT [OTHER]: what the page shows is what the reports say.
page() {
    local page=$out/$1.html
    shift
    target/release/strata-bench html "$@" --out "$page" >"$out/said" || { cat "$out/said" && exit 1; }
    [ -z "$browser" ] || python3 tools/page.py "$browser" "$page" \
        $(for report in "$@"; do [ -d "$report" ] && report+=/results.json; echo "$report"; done)
}
page run "$out/1"
page full golden/reports/full.json
page wrapper golden/reports/wrapper.json
page runs "$out/1" "$out/2"
page unlike golden/reports/full.json golden/reports/wrapper.json
[ -n "$browser" ] || echo "skipped: pages in a browser: no chromium on this machine"

echo "SmolLM2-135M Q4_1, 2 threads, 128 tokens, five times"
for _ in 1 2 3 4 5; do
    target/release/strata generate --model .models/SmolLM2-135M-Instruct.Q4_1.gguf --threads 2 \
        --prompt "The history of the city of Rome begins with" --max-tokens 128 2>&1 >/dev/null |
        awk '/^answer/ {printf "%.1f tokens/s\n", $2 / $5}'
done
