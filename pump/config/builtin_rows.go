package config

import "slices"

// Builtins are the hooks that are built in, by family. The slice is made anew on each call.
func Builtins() []Builtin {
	return slices.Concat(countingHooks(), waitingHooks(), choosingHooks(), rewritingHooks(), placingHooks(), fileHooks(), fetchingHooks())
}

func ownDuration(name, value, help string) Option {
	return Option{Name: name, Kind: KindDuration, Arg: "duration", Default: value, Help: help}
}

func ownString(name, arg, value, help string) Option {
	return Option{Name: name, Kind: KindString, Arg: arg, Default: value, Help: help}
}

func ownList(name, arg, help string) Option {
	return Option{Name: name, Kind: KindList, Arg: arg, Multi: true, Help: help}
}

// countingHooks log how many announcements or files came by, and how late.
func countingHooks() []Builtin {
	var out []Builtin
	for _, c := range []struct{ name, point, what string }{
		{"msg_total", "on_message", "announcements accepted"},
		{"post_total", "on_post", "announcements made"},
		{"file_total", "on_file", "files received"},
	} {
		b := Builtin{Name: c.name, Points: []string{c.point}, Help: "counts " + c.what, Options: []Option{
			ownDuration(c.name+"_interval", "5", "time between two lines"),
			ownDuration(c.name+"_maxlag", "60", "a greater lag is warned of; none: never"),
		}}
		if c.point == "on_file" {
			b.Also = []string{"on_part"}
		}
		saving := b
		saving.Name, saving.Help = c.name+"_save", b.Help+", over restarts"
		out = append(out, b, saving)
	}
	return append(out,
		Builtin{Name: "file_age", Points: []string{"on_file"}, Also: []string{"on_part"}, Help: "logs how old each file is"},
		Builtin{Name: "msg_print_lag", Points: []string{"on_message"}, Help: "logs how long ago each announcement was made"})
}

// waitingHooks let announcements go on later, or not so fast.
func waitingHooks() []Builtin {
	return []Builtin{
		{Name: "msg_delay", Points: []string{"on_message"}, Help: "waits until the announcement is so old",
			Options: []Option{ownDuration("msg_delay", "5m", "least age of an announcement")}},
		{Name: "msg_fdelay", Points: []string{"on_message"}, Help: "waits until the local file is so old, and drops what has none",
			Options: []Option{ownDuration("msg_fdelay", "60", "least age of a file")}},
		{Name: "post_rate_limit", Points: []string{"on_post"}, Help: "makes at most so many announcements a second",
			Options: []Option{{Name: "post_rate_limit", Kind: KindInt, Arg: "n", Default: "1", Min: 1, Help: "announcements a second"}}},
	}
}

// choosingHooks drop announcements.
func choosingHooks() []Builtin {
	out := []Builtin{
		{Name: "msg_skip_old", Points: []string{"on_message"}, Help: "drops announcements older than that",
			Options: []Option{ownDuration("msg_skip_threshold", "1h", "greatest age of an announcement")}},
		{Name: "msg_delete", Points: []string{"on_message"}, Help: "removes the local file, and drops the announcement"},
	}
	for _, c := range []struct{ name, arg, help string }{
		{"msg_to_clusters", "cluster", "lets pass what is for one of these clusters (header to_clusters)"},
		{"msg_from_cluster", "cluster", "lets pass what is from one of these clusters (header from_cluster)"},
		{"msg_by_source", "source", "lets pass what is from one of these sources (header source)"},
		{"msg_by_user", "user", "lets pass reports of one of these users"},
	} {
		out = append(out, Builtin{Name: c.name, Points: []string{"on_message"}, Help: c.help, Needs: []string{c.name},
			Options: []Option{ownList(c.name, c.arg, "one of those; repeated")}})
	}
	return out
}

// rewritingHooks change announcements.
func rewritingHooks() []Builtin {
	return []Builtin{
		{Name: "msg_2http", Points: []string{"on_message"}, Help: "has files fetched by HTTP",
			Options: []Option{ownString("msg_2http_baseurl", "url", "", "in place of baseurl; without it, http and the host of baseurl")}},
		{Name: "msg_http_to_https", Points: []string{"on_message"}, Help: "has files fetched by HTTPS instead of HTTP"},
		{Name: "msg_download_baseurl", Points: []string{"on_message"}, Help: "has files fetched from another place", Needs: []string{"msg_download_baseurl"},
			Options: []Option{ownString("msg_download_baseurl", "url", "", "in place of baseurl")}},
		{Name: "msg_overwrite_sum", Points: []string{"on_message"}, Help: "has the sum computed from what is fetched, whatever was announced",
			Options: []Option{{Name: "msg_overwrite_sum", Kind: KindChoice, Arg: "d|s", Default: "d", Choices: []string{"d", "s"}, Help: "the method"}}},
		{Name: "post_override", Points: []string{"on_post"}, Help: "sets and takes off headers", Needs: []string{"post_override", "post_override_del"},
			Options: []Option{
				ownList("post_override", "header value", "a header and what it is set to; repeated"),
				ownList("post_override_del", "header", "a header that is taken off; repeated"),
			}},
		{Name: "post_hour_tree", Points: []string{"on_post"}, Help: "puts the hour, as a directory, before the name in relpath"},
	}
}

// placingHooks choose the place of a received file.
func placingHooks() []Builtin {
	return []Builtin{
		{Name: "msg_rename_whatfn", Points: []string{"on_message"}, Help: "names the file by its name up to the first colon"},
		{Name: "msg_replace_new_dir", Points: []string{"on_message"}, Help: "replaces a pattern in the directory of the file", Needs: []string{"msg_replace_new_dir"},
			Options: []Option{ownString("msg_replace_new_dir", "pattern,replacement", "", "a pattern and what takes its place")}},
		{Name: "msg_hour_tree", Points: []string{"on_message"}, Help: "puts the file into a directory of its directory, named by the hour"},
		{Name: "destfn_sample", Points: []string{"destfn_script"}, Help: "adds .renamed to the name"},
	}
}

// fileHooks do something with files.
func fileHooks() []Builtin {
	return []Builtin{
		{Name: "msg_stdfiles", Points: []string{"on_message"}, Help: "gives the local file to the standard input of a command", Needs: []string{"msg_stdfiles_command"},
			Options: []Option{ownString("msg_stdfiles_command", "command", "", "is run for each")}},
		{Name: "file_rxpipe", Points: []string{"on_file"}, Also: []string{"on_part"}, Help: "writes the path of each file to a named pipe", Needs: []string{"file_rxpipe_name"},
			Options: []Option{ownString("file_rxpipe_name", "path", "", "the pipe; it is made when it is missing")}},
		{Name: "part_clamav_scan", Points: []string{"on_data"}, Also: []string{"on_part", "on_file"}, Help: "keeps infected files aside, and drops their announcements",
			Options: []Option{ownString("part_clamav_scan_command", "command", "clamdscan --fdpass --no-summary", "looks at a file; status 0 is clean, 1 infected")}},
		{Name: "root_chown", Points: []string{"on_file", "on_post"}, Also: []string{"on_part"}, Help: "announces owners in the header ownership, and gives files to them",
			Options: []Option{ownString("mapping_file", "path", "", "lines of two words: announced owner:group and the one here")}},
	}
}

// fetchingHooks fetch by a program what is worth its start.
func fetchingHooks() []Builtin {
	var out []Builtin
	for _, c := range []struct{ program, protocol, command string }{
		{"wget", "http,https,ftp", "wget -q -O ${file} -- ${url}"},
		{"scp", "sftp,scp", "scp -q -B -- ${url} ${file}"},
		{"cp", "file", "cp -- ${url} ${file}"},
		{"dd", "file", "dd status=none bs=1M if=${url} of=${file}"},
	} {
		for _, family := range []string{"accel_", "download_"} {
			name := family + c.program
			if name == "accel_dd" {
				continue
			}
			out = append(out, Builtin{Name: name, Points: []string{"do_download"}, Also: []string{"on_message", "do_get", "do_task"},
				Help: "fetches by " + c.program, Options: []Option{
					{Name: name + "_threshold", Kind: KindSize, Arg: "size", Default: "10M", Help: "smaller files are fetched without it"},
					ownString(name+"_command", "command", c.command, "the program, and where file and URL go"),
					ownString(name+"_protocol", "schemes", c.protocol, "kinds of URL, separated by commas"),
				}})
		}
	}
	return out
}
