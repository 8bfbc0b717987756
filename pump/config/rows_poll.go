package config

// pollRows are what only a look at a remote server needs, and its address,
// which a delivery needs as well.
func pollRows() []Option {
	return []Option{
		{Name: "destination", Kind: KindURL, Arg: "url",
			Section: SectionPoll, For: Sender | Poll,
			Help: "the server delivered to, or looked at"},
		{Name: "destination_timezone", Kind: KindString, Arg: "zone", Default: "UTC",
			Section: SectionPoll, For: Poll,
			Help: "time zone of the dates in listings, such as America/Toronto"},
		{Name: "file_time_limit", Kind: KindDuration, Arg: "duration", Default: "60d",
			Section: SectionPoll, For: Poll,
			Help: "leave files older than this"},
		{Name: "ls_file_index", Kind: KindInt, Arg: "number", Default: "-1", Min: -1,
			Section: SectionPoll, For: Poll,
			Help: "column of a listing the name begins in, counted from 0; -1 finds out"},
		{Name: "poll_without_vip", Aliases: []string{"pwv"}, Kind: KindBool, Default: "on",
			Section: SectionPoll, For: Poll,
			Help: "without the address of vip go on looking, and announce nothing"},
	}
}
