#!/usr/bin/env bash
# Runs steps of ./test on a busy machine, to find tests that are red although nothing is wrong.
#
#   tests/under_load.sh [--passes N] [--file FILE] [STEP...]
#
# Pass 0 has no load: it builds what the steps need. Passes 1 to N (3) run next to 8 busy loops and 2 disk writers, all on two cores.
# Each step of each pass adds a line to FILE (target/under-load.tsv): commit, pass, step, passed or failed, seconds, failed tests.
# What is in FILE of this commit is not run again, so the same command continues where it was stopped.
set -uom pipefail
cd "$(dirname "$0")/.." || exit 1
passes=3 file=target/under-load.tsv commit=$(git rev-parse --short HEAD)
while [[ ${1:-} == --* ]]; do
    case $1 in
    --passes) passes=${2:?} ;;
    --file) file=${2:?} ;;
    *) echo "there is no option $1; write --passes N or --file FILE" >&2 && exit 2 ;;
    esac
    shift 2
done
# The steps that run programs. The others only compile and read.
[ $# -gt 0 ] || set -- tests agent_marks agent_object agent_uml python first_minute verdicts documents captures browser playground performance mutations
load=$(mktemp -d) && mkdir -p "$(dirname "$file")" && touch "$file" || exit 1
stop() {
    exec 2> /dev/null # of jobs that end
    for job in $(jobs -p); do kill -- "-$job"; done
    [ ! -f "$load/times" ] || cp "$load/times" target/test-times.tsv
    rm -rf "$load"
}
# Times of these runs are no times to expect.
[ ! -f target/test-times.tsv ] || cp target/test-times.tsv "$load/times"
trap stop EXIT
trap 'exit 130' INT TERM HUP

# Loops that end with this script, however it ends.
busy() { while kill -0 $$; do :; done; }
write() { while kill -0 $$; do dd if=/dev/zero of="$1" bs=1M count=200 conv=fsync; done; rm -f "$1"; }
start_load() {
    taskset -cp 0,1 $$ > /dev/null 2>&1 || echo "note: taskset cannot bind to two cores here: the load is spread over $(nproc)"
    for _ in 1 2 3 4 5 6 7 8; do busy 2> /dev/null & done
    for i in 1 2; do write "$load/disk-$i" 2> /dev/null & done
}

# Names of failed tests in a log: of cargo test, nextest, pytest and the programs in tests/; else the last line of what failed first.
failed_tests() {
    local names
    names=$(sed -nE -e 's/^test (.*) \.\.\. FAILED$/\1/p' -e 's/^ *FAIL \[[^]]*\] (\([^)]*\) )?//p' -e 's/^(FAILED|SURVIVED|BROKEN|STALE) +([^ ].*)/\2/p' "$1" | cut -c1-120 | sort -u | paste -sd ';')
    echo "${names:-$(sed '/^== .* runs once more$/,$d' "$1" | grep -av '^==\|^failed steps\|passed, \|of CPU\| ended with [0-9]' | tail -n 1 | tr ';' ',' | cut -c1-120)}"
}

for pass in $(seq 0 "$passes"); do
    for step in "$@"; do
        grep -q "^$commit"$'\t'"$pass"$'\t'"$step"$'\t' "$file" && continue
        [ "$pass" -eq 0 ] || [ -n "${loaded:-}" ] || { start_load && loaded=yes; }
        began=$SECONDS
        env ./test "$step" > "$load/log" 2>&1 < /dev/null &
        result=passed names=
        wait $! || { result=failed names=$(failed_tests "$load/log") && cp "$load/log" "target/under-load-$pass-$step.log"; }
        grep -q '^skipped: ' "$load/log" && [ $result = passed ] && result=skipped
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$commit" "$pass" "$step" "$result" $((SECONDS - began)) "$names" | tee -a "$file"
    done
done

echo "failed under load at $commit:"
awk -F '\t' -v commit="$commit" '$1 == commit && $2 > 0 { runs[$3]++; if ($4 == "failed") red[$3]++
    n = split($6, names, ";"); for (i = 1; i <= n; i++) count[$3 "  " names[i]]++ }
    END { for (step in runs) printf "  %-16s %d of %d passes\n", step, red[step], runs[step]
        for (name in count) printf "     %d times: %s\n", count[name], name }' "$file"
