#!/bin/sh
# A feed is harvested as SFM asks for it, the WARC goes to a mirror, and the mirror tells of its
# copy: requests, answers and announcements go through a broker, in the configurations beside this file.
# At the end the two WARCs are compared and checked, and their items exported.
#
# usage: run.sh DIRECTORY-OF-THE-COMMANDS
#
# BROKER  an amqp URL to be used instead of a file
# LIMIT   seconds after which a step has failed (60)
set -eu

bin=$(cd "${1:?usage: run.sh DIRECTORY-OF-THE-COMMANDS}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
limit=${LIMIT:-60}
dir=$PWD/sfm-$(date +%Y%m%d-%H%M%S)-$$
mkdir -p "$dir/.config/sarra" "$dir/site" "$dir/data" "$dir/ask" "$dir/log"
cp -R "$here/spool" "$here/subscribe" "$dir/.config/sarra/"
HOME=$dir PATH=$bin:$PATH
export HOME PATH
unset XDG_CONFIG_HOME XDG_CACHE_HOME
cd "$dir"
broker=${BROKER:-sqlite:$dir/pump.db}
sed "s|SFM_BROKER=.*|SFM_BROKER=$broker|" "$here/default.conf" >.config/sarra/default.conf
pids=

say() { printf '%s\n' "$*"; }
fail() { say "sfm: $*; see $dir/log and $dir/.cache/sarra/log" >&2; exit 1; }

# Every process started here is ended here, however the script ends.
cleanup() {
	status=$?
	trap - EXIT INT TERM HUP
	sr stop >log/stop 2>&1 || :
	for pid in $pids; do kill "$pid" 2>/dev/null || :; done
	for pid in $pids; do wait "$pid" 2>/dev/null || :; done
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# until_true WHAT COMMAND [ARGUMENT ...]: looks again and again, and gives up at the limit.
until_true() {
	what=$1 end=$(($(date +%s) + limit))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$end" ] || fail "$what: not within $limit seconds"
		sleep 0.1
	done
}
# serve NAME DIRECTORY: over HTTP, at the URL url NAME prints.
serve() {
	sr_serve -listen 127.0.0.1:0 "$2" >"log/$1" 2>&1 &
	pids="$pids $!"
	until_true "serving $2" grep -q 'url=http' "log/$1"
}
url() { sed -n 's/.* url=\(http:[^ ]*\).*/\1/p' "log/$1"; }
heard() { grep -qs "$2" "$1"/*,"$3",*; }

cat >site/feed.json <<END
{"version": "https://jsonfeed.org/version/1.1", "title": "a feed", "items": [
 {"id": "1", "url": "http://blog.example/1", "title": "one", "date_published": "2026-11-19T09:00:00Z"},
 {"id": "2", "url": "http://blog.example/2", "title": "two", "date_published": "2026-11-20T09:00:00Z"},
 {"id": "3", "url": "http://blog.example/3", "title": "=three", "date_published": "2026-11-21T09:00:00Z"}]}
END
serve site site
serve data data

sr setup >log/setup 2>&1 || fail "the queues cannot be made"
sr start >log/start 2>&1 || fail "not everything starts"
sfm_harvest -s spool -l -m "/sfm-data=$dir/data" -p "$(url data)" -d "$dir/data" >log/harvest 2>&1 &
pids="$pids $!"

# SFM asks. A file whose name holds its routing key needs nothing else to be a message.
cat >"ask/.request" <<END
{"id": "demo1", "type": "feed", "path": "/sfm-data/collection_set/blogs/one",
 "seeds": [{"id": "seed1", "token": "$(url site)feed.json"}], "options": {}, "credentials": {},
 "collection_set": {"id": "blogs"}, "collection": {"id": "one"}}
END
mv ask/.request ask/1,harvest.start.feed.feed,demo1
sr_spool out -once -sleep 0 -post_broker "$broker" -post_exchange sfm_exchange -directory ask >log/ask 2>&1 || fail "the request cannot be published"

until_true "the harvest" heard heard '"status":"completed' harvest.status.feed.feed
heard heard '"status":"completed success"' harvest.status.feed.feed || fail "the harvest failed"
until_true "the mirror" heard told '"warc"' warc_created

warc=$(cd data && find . -name '*.warc.gz')
copy=$(sed -n 's/.*"warc":{"path":"\([^"]*\)".*/\1/p' told/*,warc_created,*)
cmp "data/$warc" "mirror/$warc" || fail "the copy is another"
[ "$copy" = "$dir/mirror/${warc#./}" ] || fail "the mirror tells of $copy"
warc check -q "$copy" || fail "the copy is damaged"
[ "$(sfm_items "$copy" | wc -l)" -eq 3 ] || fail "not all items are in the copy"
find mirror -name '*.warc.gz' | sfm_export -f csv -o export >log/export 2>&1 || fail "the items cannot be exported"

say "what SFM heard, in its order:"
for f in heard/*; do
	case $f in
	*.meta) ;;
	*) say "  $(sed -n 's/.*"key":"\([^"]*\)".*/\1/p' "$f.meta") $(sed -n 's/.*"status":"\([^"]*\)".*/\1/p' "$f")" ;;
	esac
done
say "what its mirror heard:"
say "  warc_created $copy"
say "exported:"
sed 's/^/  /' export/*.csv
say "all of it is in $dir"
