#!/bin/bash
# Everything that must hold, step by step; the last line is `N passed, N failed, N skipped`.
# A test that cannot run says `skipped: NAME: REASON` on stderr and is counted; under CI=true a skip
# that tools/allowed-skips.txt does not name is a failure.
set -u
cd "$(dirname "$0")/.."
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
export INSTA_UPDATE=no RUSTDOCFLAGS="-D warnings" CARGO_INCREMENTAL=0
: "${MSRV:=1.89}"
passed=0 failed=0 skipped=0
failures=()

# step NAME COMMAND...: one line and its seconds; the output is shown only when it fails.
step() {
    local name=$1 out=$log/out start=$SECONDS code=0
    shift
    "$@" >"$out" 2>&1 || code=$?
    local tests_passed tests_failed
    tests_passed=$(awk '/^test result:/ {n += $4} END {print n + 0}' "$out")
    tests_failed=$(awk '/^test result:/ {n += $6} END {print n + 0}' "$out")
    grep -h '^skipped: ' "$out" | sort -u >>"$log/skips"
    if [ "$code" -eq 0 ]; then
        passed=$((passed + (tests_passed > 0 ? tests_passed : 1)))
        echo "ok    $name ($((SECONDS - start)) s)"
    else
        passed=$((passed + tests_passed))
        failed=$((failed + (tests_failed > 0 ? tests_failed : 1)))
        failures+=("$name")
        cat "$out"
        echo "FAIL  $name ($((SECONDS - start)) s)"
    fi
}

# skip NAME REASON: a step that cannot run here.
skip() { echo "skipped: $1: $2" | tee -a "$log/skips"; }

cargo="cargo --locked"
touch "$log/skips"
python3 tools/models.py .models >"$log/models" 2>&1
case $? in
0) echo "ok    models" ;;
3 | 127) echo "no models: $(tail -n1 "$log/models")" ;; # no pip, network or python: tests skip
*) failed=1 failures+=("models: $(tail -n1 "$log/models")") ;;
esac

step "format" cargo fmt --all --check
step "clippy" $cargo clippy --workspace --all-targets -- -D warnings
step "clippy, pure library" $cargo clippy -p strata-engine --lib --no-default-features -- -D warnings
step "documentation" $cargo doc --workspace --no-deps --quiet
step "tests" $cargo test --workspace --no-fail-fast -- --nocapture
# The programs of the tests: another build of everything would take a quarter of the time.
step "measured and reviewed" make --no-print-directory bench PROFILE=dev OUT="$log/bench"

if command -v rustup >/dev/null && rustup toolchain install "$MSRV" --profile minimal >"$log/rustup" 2>&1; then
    step "minimum Rust $MSRV" rustup run "$MSRV" cargo --locked check --workspace \
        --target-dir target/msrv
else
    skip msrv "rustup cannot install Rust $MSRV here"
fi
arm=aarch64-unknown-linux-gnu
if command -v rustup >/dev/null && rustup target add $arm >"$log/rustup" 2>&1; then
    step "compiles for $arm" $cargo check --workspace --target $arm
else
    skip aarch64 "rustup cannot install the target $arm here"
fi

sort -u "$log/skips" | while read -r line; do
    name=$(echo "$line" | cut -d: -f2 | tr -d ' ')
    echo "$line"
    grep -qx "$name" tools/allowed-skips.txt || echo "$name" >>"$log/forbidden"
done
skipped=$(sort -u "$log/skips" | wc -l)
if [ "${CI:-}" = true ] && [ -s "$log/forbidden" ]; then
    failed=$((failed + $(wc -l <"$log/forbidden")))
    failures+=("skips that CI does not allow: $(tr '\n' ' ' <"$log/forbidden")")
fi
[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#failures[@]} -eq 0 ]
