package config

func spoolRows() []Option {
	return []Option{
		{Name: "content_encoding", Kind: KindString, Arg: "encoding", Default: "utf-8",
			Section: SectionSpool, For: Spool,
			Help: "out: content encoding of a file that has no meta"},
		{Name: "content_type", Kind: KindString, Arg: "type", Default: "application/json",
			Section: SectionSpool, For: Spool,
			Help: "out: content type of a file that has no meta"},
		{Name: "direction", Kind: KindChoice, Arg: "in|out|save|restore",
			Choices: []string{"in", "out", "save", "restore"},
			Section: SectionSpool, For: Spool,
			Help: "which way messages go; the same as the word behind the command"},
		{Name: "mandatory", Kind: KindBool, Default: "on",
			Section: SectionSpool, For: Spool,
			Help: "a message that no queue takes is kept and tried again"},
		{Name: "once", Kind: KindBool, Default: "off",
			Section: SectionSpool, For: Spool,
			Help: "do what there is to do and exit"},
		{Name: "segment_age", Kind: KindDuration, Arg: "duration", Default: "1h",
			Section: SectionSpool, For: Spool,
			Help: "save: a segment is sealed when it is this old"},
		{Name: "segment_size", Kind: KindSize, Arg: "size", Default: "64M",
			Section: SectionSpool, For: Spool,
			Help: "save: a segment is sealed when it has this many bytes, compressed"},
		{Name: "until", Kind: KindString, Arg: "duration|timestamp",
			Section: SectionSpool, For: Spool,
			Help: "restore: only messages received before then, or longer ago than this time"},
	}
}
