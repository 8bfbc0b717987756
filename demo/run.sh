#!/bin/sh
# The main job of a pump on real files: two redundant sources announce a tree, by sr_post and
# then by sr_watch; sr_winnow passes each file on once, sr_sarra fetches it over HTTP and
# announces its copy, sr_subscribe fetches from the copy. At the end checksums prove that
# the trees are equal.
#
# usage: run.sh DIRECTORY-OF-THE-COMMANDS
#
# SRPUMP_DEMO_FILES  how many files to take from the Go sources (2400)
# SRPUMP_DEMO_LIMIT  seconds after which a step has failed (50)
set -eu

bin=$(cd "${1:?usage: run.sh DIRECTORY-OF-THE-COMMANDS}" && pwd)
files=${SRPUMP_DEMO_FILES:-2400}
limit=${SRPUMP_DEMO_LIMIT:-50}
source=$(go env GOROOT)/src
dir=$PWD/demo-$(date +%Y%m%d-%H%M%S)-$$
broker=sqlite://$dir/pump.db
pids=

say() { printf '%s\n' "$*"; }
fail() { say "demo: $*" >&2; say "demo: see the logs in $dir/log" >&2; exit 1; }

# Every process started here is ended here, however the demo ends.
cleanup() {
	status=$?
	trap - EXIT INT TERM HUP
	for pid in $pids; do kill "$pid" 2>/dev/null || :; done
	for pid in $pids; do wait "$pid" 2>/dev/null || :; done
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run NAME COMMAND [OPTION ...]: in the background, with its log and state under its name.
run() {
	name=$1 command=$2
	shift 2
	"$bin/$command" -log "$dir/log/$name.log" "$@" >/dev/null 2>>"$dir/log/$name.err" </dev/null &
	pids="$pids $!"
}

# until_true WHAT COMMAND [ARGUMENT ...]: looks again and again, and gives up at the limit.
until_true() {
	what=$1 end=$(($(date +%s) + limit))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$end" ] || fail "$what: not within $limit seconds"
		sleep 0.1
	done
}
logged() { grep -q "$2" "$dir/log/$1.log" 2>/dev/null; }
ready() { until_true "$1 does not start" logged "$1" "$2"; }
url() { sed -n 's/.* serving .*url=\(http:[^ ]*\).*/\1/p' "$dir/log/$1.log"; }
sums() { (cd "$dir/$1" && find . -type f ! -name '.*' -exec sha256sum {} + | LC_ALL=C sort -k 2) >"$dir/$1.sha256"; }
count() { (cd "$dir/$1" && find . -type f ! -name '.*') | wc -l; }
# The sums are taken only when the numbers agree, for they cost time.
equal() { [ "$(count "$1")" -eq "$(count "$2")" ] && sums "$1" && sums "$2" && cmp -s "$dir/$1.sha256" "$dir/$2.sha256"; }
now() { date +%s.%N; }

mkdir "$dir"
mkdir "$dir/log" "$dir/home" "$dir/A" "$dir/B" "$dir/copy" "$dir/in"
export HOME="$dir/home"
unset XDG_CONFIG_HOME XDG_CACHE_HOME SR_DEV_APPNAME
say "demo: working in $dir"

(cd "$source" && find . -type f ! -path '*/.*' | LC_ALL=C sort | head -n "$files" | tar -cf - -T -) | tar -xf - -C "$dir/A"
(cd "$dir/A" && tar -cf - .) | tar -xf - -C "$dir/B"
say "demo: $(count A) files of the Go toolchain, twice: sources A and B"

run serve-A sr_serve -listen 127.0.0.1:0 "$dir/A"
run serve-B sr_serve -listen 127.0.0.1:0 "$dir/B"
run serve-copy sr_serve -listen 127.0.0.1:0 "$dir/copy"
for name in serve-A serve-B serve-copy; do ready $name 'serving'; done
A=$(url serve-A) B=$(url serve-B) C=$(url serve-copy)

run winnow sr_winnow -debug -broker "$broker" -exchange xsource -post_exchange xwinnow
ready winnow consuming
run sarra sr_sarra -broker "$broker" -exchange xwinnow -post_exchange xpublic \
	-directory "$dir/copy" -post_base_dir "$dir/copy" -post_base_url "$C"
ready sarra consuming
run subscribe sr_subscribe -broker "$broker" -exchange xpublic -mirror -directory "$dir/in"
ready subscribe consuming
say "demo: sr_serve (3), sr_winnow, sr_sarra and sr_subscribe are running; the broker is a file"

start=$(now)
"$bin/sr_post" -post_broker "$broker" -post_exchange xsource -post_base_dir "$dir/A" -post_base_url "$A" -path "$dir/A" 2>"$dir/log/post-A.log" &
first=$!
pids="$pids $first"
"$bin/sr_post" -post_broker "$broker" -post_exchange xsource -post_base_dir "$dir/B" -post_base_url "$B" -path "$dir/B" 2>"$dir/log/post-B.log" ||
	fail "sr_post of source B failed"
wait "$first" || fail "sr_post of source A failed"
until_true "the tree does not arrive" equal A in
moved=$(now)
say "demo: announced by both, fetched twice (copy, then in), and equal"

for tree in A B; do
	eval "base=\$$tree"
	run "watch-$tree" sr_watch -post_broker "$broker" -post_exchange xsource -post_on_start off \
		-post_base_dir "$dir/$tree" -post_base_url "$base" -path "$dir/$tree"
	ready "watch-$tree" watching
done
find "$dir/A" -type f | LC_ALL=C sort | sed -n "s|^$dir/A/||; 1,30p" >"$dir/log/changed"
for name in A B; do
	mkdir -p "$dir/$name/added/deep/er"
	i=0
	while [ $i -lt 40 ]; do
		i=$((i + 1))
		say "added while watching, number $i" >"$dir/$name/added/deep/er/file-$i.txt"
	done
	n=0
	while IFS= read -r file; do
		n=$((n + 1))
		if [ $n -le 20 ]; then say "// changed while watching" >>"$dir/$name/$file"; else rm "$dir/$name/$file"; fi
	done <"$dir/log/changed"
done
until_true "the changes do not arrive" equal A in
equal A copy || fail "the copy differs from the source"
finish=$(now)

bytes=$(cat "$dir/log/sarra.log" "$dir/log/subscribe.log" | sed -n 's/.* fetched .* bytes=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { printf "%.1f", n / 1048576 }')
fetched=$(cat "$dir/log/sarra.log" "$dir/log/subscribe.log" | grep -c '\] fetched ')
winnowed=$(grep -c '\] winnowed ' "$dir/log/winnow.log" || :)
removed=$(grep -c '\] removed ' "$dir/log/subscribe.log" || :)
awk -v a="$start" -v m="$moved" -v z="$finish" -v f="$fetched" -v mb="$bytes" -v w="$winnowed" -v r="$removed" -v n="$(count in)" 'BEGIN {
	printf "demo: equal by sha256: %d files (A, copy and in)\n", n
	printf "demo: 40 files added, 20 changed, 10 removed while watched; %d removals arrived\n", r
	printf "demo: moved %d files, %s MiB; %d duplicates winnowed; %.1f s in all\n", f, mb, w, z - a
	printf "demo: the first tree took %.1f s, %.0f files/s over both hops with checksums\n", m - a, 2 * n / (m - a)
}'
say "demo: next: man -l man/srpump.7 (tutorial), man sr_subscribe, and the logs in $dir/log"
