package config

// hookRows are the places where a configuration has a program of its own at
// work. Each is a list to which lines add; none empties it.
func hookRows() []Option {
	rows := []Option{
		{Name: "destfn_script", For: consumers, Help: "names the file a received one is written to"},
		{Name: "do_download", For: fetchers, Help: "fetches files of a kind of URL"},
		{Name: "do_get", For: fetchers | Poll, Help: "fetches files of a kind of URL"},
		{Name: "do_poll", For: Poll, Help: "looks at a kind of server"},
		{Name: "do_put", For: Sender, Help: "delivers files to a kind of URL"},
		{Name: "do_send", For: Sender, Help: "delivers files to a kind of URL"},
		{Name: "do_task", For: fetchers, Help: "takes the place of fetching or delivering"},
		{Name: "hook_timeout", Kind: KindDuration, Arg: "duration", Default: "5m", For: pumps,
			Help: "how long a hook may take for one event before it is ended; none is for ever"},
		{Name: "on_data", For: fetchers, Help: "changes the bytes of a file on their way"},
		{Name: "on_file", For: fetchers, Help: "sees each file that is complete"},
		{Name: "on_heartbeat", Aliases: []string{"on_hb"}, For: pumps, Help: "is called at each heartbeat"},
		{Name: "on_html_page", For: Poll, Help: "reads a page that lists files"},
		{Name: "on_line", For: Poll, Help: "reads one line of a listing"},
		{Name: "on_message", Aliases: []string{"on_msg"}, For: consumers, Help: "sees each accepted announcement, and may change or refuse it"},
		{Name: "on_part", For: fetchers, Help: "sees each block that is complete"},
		{Name: "on_post", For: pumps, Help: "sees each announcement before it is made"},
		{Name: "on_report", Aliases: []string{"on_rpt"}, For: consumers, Help: "sees each report before it is made"},
		{Name: "on_start", For: pumps, Help: "is called once at the start"},
		{Name: "on_stop", For: pumps, Help: "is called once at the end"},
		{Name: "on_watch", For: Watch, Help: "is called before each pass"},
		{Name: "plugin", For: pumps, Help: "takes part wherever it wants"},
	}
	for i := range rows {
		rows[i].Section = SectionHook
		if rows[i].Kind == 0 {
			rows[i].Kind, rows[i].Arg, rows[i].Multi = KindList, "hook", true
		}
	}
	rows = append(rows, Option{
		Name: "plugin_missing", Kind: KindChoice, Arg: "error|ignore", Default: "error",
		Choices: []string{"error", "ignore"},
		Section: SectionHook, For: pumps,
		Help: "what becomes of a hook that cannot be run: the start is refused, or it is left out with a warning",
	})
	return append(rows, stageRows()...)
}

// stageRows are about the filter that makes new files of those received (sr_hooks(7), STAGES).
func stageRows() []Option {
	rows := []Option{
		{Name: "stage", Kind: KindCommand, Arg: "command", Default: "none",
			Help: "filter that is given each file received, and makes the files that are announced"},
		{Name: "stage_attempts", Kind: KindInt, Arg: "count", Default: "3", Min: 1,
			Help: "how often a filter may die of a file before the file is given up"},
		{Name: "stage_idle", Kind: KindDuration, Arg: "duration", Default: "none",
			Help: "how long the filter holds files while there is no new one, before it is to answer for them"},
		{Name: "stage_instances", Kind: KindInt, Arg: "count", Default: "1", Min: 1,
			Help: "filters at work at once"},
		{Name: "stage_keep", Kind: KindBool, Default: "off",
			Help: "announce the copies received as well as what the filter makes of them"},
		{Name: "stage_timeout", Kind: KindDuration, Arg: "duration", Default: "none",
			Help: "how long the filter may take for one file before it is ended; none is for ever"},
	}
	for i := range rows {
		rows[i].Section, rows[i].For = SectionHook, Subscribe|Sarra
	}
	return rows
}
