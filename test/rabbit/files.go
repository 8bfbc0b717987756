package rabbit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// writeFiles lays out the node's directory: cookie, configuration, users.
func (n *Node) writeFiles() error {
	conf := fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
load_definitions = %s
log.file.level = warning
log.console = false
disk_free_limit.absolute = 1MB
`, n.Port, n.path("definitions.json"))
	plugins := "[].\n"
	if n.Management != 0 {
		plugins = "[rabbitmq_management].\n"
		conf += fmt.Sprintf("management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %d\n", n.Management)
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{".erlang.cookie", "SRPUMP" + strconv.Itoa(n.Port), 0o400},
		{"rabbitmq.conf", conf, 0o600},
		{"definitions.json", definitions(), 0o600},
		{"enabled_plugins", plugins, 0o600},
	} {
		if err := os.WriteFile(n.path(f.name), []byte(f.text), f.mode); err != nil {
			return fmt.Errorf("cannot write the node's files: %w", err)
		}
	}
	return nil
}

func (n *Node) path(name string) string { return filepath.Join(n.Dir, name) }

// environ keeps every script, the node and its tools within the directory.
func (n *Node) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"HOME=" + n.Dir,
		"ERL_EPMD_PORT=" + strconv.Itoa(n.EPMD),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_CRASH_DUMP_BYTES=0",
		"RABBITMQ_NODENAME=" + n.Name,
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		"RABBITMQ_NODE_PORT=" + strconv.Itoa(n.Port),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(n.Dist),
		"RABBITMQ_MNESIA_BASE=" + n.path("mnesia"),
		"RABBITMQ_LOG_BASE=" + n.path("log"),
		"RABBITMQ_PID_FILE=" + n.path("pid"),
		"RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_CONFIG_FILE=" + n.path("rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE=" + n.path("advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + n.path("enabled_plugins"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-start_epmd false",
	}
}

// definitions is what the node loads at its start: users, vhosts, permissions.
func definitions() string {
	type object map[string]any
	var users, vhosts, permissions []object
	for _, u := range []string{"admin", "guest", "bob", "nobody"} {
		tags := ""
		if u == "admin" {
			tags = "administrator"
		}
		users = append(users, object{"name": u, "tags": tags, "password_hash": passwordHash(u),
			"hashing_algorithm": "rabbit_password_hashing_sha256"})
	}
	for _, v := range []string{"/", "dev", "/dev2"} {
		vhosts = append(vhosts, object{"name": v})
		for _, u := range []string{"admin", "guest"} {
			permissions = append(permissions, object{"user": u, "vhost": v, "configure": ".*", "write": ".*", "read": ".*"})
		}
	}
	permissions = append(permissions,
		object{"user": "bob", "vhost": "/", "configure": "^q_bob.*|^xs_bob.*", "write": "^q_bob.*|^xs_bob.*",
			"read": "^q_bob.*|^x[lrs]_bob.*|^x.*public$"},
		object{"user": "nobody", "vhost": "/", "configure": "^$", "write": "^$", "read": "^$"})
	b, err := json.Marshal(object{"users": users, "vhosts": vhosts, "permissions": permissions})
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return string(b)
}

// passwordHash is rabbit_password_hashing_sha256: a salt of four bytes, then
// the digest of salt and password, in base64.
func passwordHash(password string) string {
	salt := []byte{0x5a, 0x17, 0xc0, 0xde}
	sum := sha256.Sum256(append(append([]byte{}, salt...), password...))
	return base64.StdEncoding.EncodeToString(append(salt, sum[:]...))
}
