package config

func fetchRows() []Option {
	return []Option{
		{Name: "allow_hosts", Kind: KindList, Arg: "host,...", Sep: ",", Multi: true,
			Section: SectionFetch, For: fetchers,
			Help: "fetch from these hosts only"},
		{Name: "batch", Kind: KindInt, Arg: "number", Default: "100", Min: 1,
			Section: SectionFetch, For: fetchers,
			Help: "transfers over one connection before it is opened anew"},
		{Name: "copy", Kind: KindChoice, Arg: "copy|reflink|link", Default: "copy",
			Choices: []string{"copy", "reflink", "link"},
			Section: SectionFetch, For: fetchers,
			Help: "how file: sources are taken: copied (shared where the file system can), shared or not at all, hard-linked"},
		{Name: "delete", Kind: KindBool, Default: "off",
			Section: SectionFetch, For: fetchers | Poll,
			Help: "remove the file at its source once it is here"},
		{Name: "discard", Aliases: []string{"d", "download_and_discard"}, Kind: KindBool, Default: "off",
			Per: []Override{{Sarra, "off"}}, Fixed: true,
			Section: SectionFetch, For: Subscribe,
			Help: "remove what was fetched, for tests of speed"},
		{Name: "fsync", Kind: KindChoice, Arg: "group|each|off", Default: "group",
			Choices: []string{"group", "each", "off|no|none|false"},
			Section: SectionFetch, For: fetchers,
			Help: "make files durable in groups, one by one, or when the kernel likes"},
		{Name: "host_workers", Kind: KindInt, Arg: "number", Default: "0",
			Section: SectionFetch, For: fetchers,
			Help: "workers one source host may occupy; 0 is chosen by the flow"},
		{Name: "inflight", Aliases: []string{"lock"}, Kind: KindString, Arg: "none|.suffix|directory/|duration",
			Section: SectionFetch, For: fetchers | posters,
			Help: "temporary name during the transfer; posters: least age of a file"},
		{Name: "notify_only", Aliases: []string{"n", "no_download"}, Kind: KindBool, Default: "off",
			Per: []Override{{Winnow | Shovel | Report, "on"}}, Fixed: true,
			Section: SectionFetch, For: consumers,
			Help: "move announcements, not files"},
		{Name: "srcpath", Kind: KindChoice, Arg: "auto|static|prefix", Default: "auto",
			Choices: []string{"auto", "static", "prefix"},
			Section: SectionFetch, For: fetchers,
			Help: "an announced URL not ending in / is the file (static), its beginning (prefix), or found out"},
		{Name: "sum_mismatch", Kind: KindChoice, Arg: "auto|strict", Default: "auto",
			Choices: []string{"auto", "strict"},
			Section: SectionFetch, For: fetchers,
			Help: "a checksum that differs: fetch again until two fetches agree, or never install"},
		{Name: "timeout", Kind: KindDuration, Arg: "duration", Default: "300",
			Section: SectionFetch, For: pumps,
			Help: "give up a transfer which stands still this long"},
	}
}

func winnowRows() []Option {
	return []Option{
		{Name: "suppress_duplicates", Aliases: []string{"sd", "caching", "cache", "no_duplicates", "noduplicates", "nd"},
			Kind: KindDuration, Arg: "duration|on|off", Default: "off", Bare: "300",
			Per: []Override{{Winnow | Poll, "1200"}, {Shovel, "off"}}, Fixed: true,
			Section: SectionWinnow, For: pumps,
			Help: "pass on each fingerprint once within this time; on is 300 s"},
		{Name: "suppress_duplicates_basis", Aliases: []string{"sdb", "cache_basis", "cb"}, Kind: KindChoice, Arg: "path|name|data", Default: "path",
			Choices: []string{"path", "name", "data"},
			Section: SectionWinnow, For: pumps,
			Help: "what besides the checksum makes a duplicate: the path, the name, or nothing"},
	}
}

func retryRows() []Option {
	return []Option{
		{Name: "attempts", Aliases: []string{"at"}, Kind: KindInt, Arg: "number", Default: "3", Min: 1,
			Section: SectionRetry, For: fetchers,
			Help: "tries at once before a file goes to the retry queue"},
		{Name: "retry", Aliases: []string{"retry_mode"}, Kind: KindBool, Default: "on",
			Section: SectionRetry, For: consumers,
			Help: "keep what failed and try again later"},
		{Name: "retry_permanent", Kind: KindInt, Arg: "number", Default: "8",
			Section: SectionRetry, For: consumers,
			Help: "tries of what fails for good, such as a missing file, before it is given up"},
		{Name: "retry_ttl", Kind: KindDuration, Arg: "duration", Default: "2d",
			Section: SectionRetry, For: consumers,
			Help: "age at which a failed announcement is given up"},
	}
}
