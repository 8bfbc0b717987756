#!/bin/sh
# run.sh COMMAND...: runs the command beside a private RabbitMQ node that all test
# processes share; the node ends with it, however it ends.
set -eu
dir=$(mktemp -d)
trap 'exec 3>&-; wait; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
mkfifo "$dir/stdin" "$dir/line"
go build -o "$dir/serve" ./test/rabbit/serve
"$dir/serve" <"$dir/stdin" >"$dir/line" &
exec 3>"$dir/stdin" # closing it ends the node
read -r line <"$dir/line" || { echo "cannot start a RabbitMQ node" >&2; exit 1; }
env "$line" "$@"
