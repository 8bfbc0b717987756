#!/bin/sh
# Installs the Debian packages the tests need, those that are missing, and says so.
set -eu

missing=
need() { # program package
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing="$missing $2"
}
need rabbitmqctl rabbitmq-server
need nginx nginx-light
need sshd openssh-server
need sftp openssh-client
need vsftpd vsftpd
need mandoc mandoc
need curl curl
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "the tests need$missing: install them" >&2
	exit 1
fi
echo "installing what the tests need:$missing" >&2
run=
[ "$(id -u)" = 0 ] || run=sudo
# The packages must not start their services: the tests run private ones.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | $run tee $policy >/dev/null
	$run chmod 755 $policy
	trap '$run rm -f $policy' EXIT
fi
$run apt-get update -qq
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing >/dev/null
