package config

// hostRows concern the host as a whole: the administrator's work at a broker,
// the care for all processes, and who of several hosts is at work.
func hostRows() []Option {
	return []Option{
		{Name: "dry_run", Kind: KindBool, Default: "off",
			Section: SectionHost, For: Audit,
			Help: "say what would be changed at the broker, and change nothing"},
		{Name: "force", Kind: KindBool, Default: "off",
			Section: SectionHost, For: Audit,
			Help: "allow more than 25 deletions at once"},
		{Name: "management_url", Kind: KindURL, Arg: "url",
			Section: SectionHost, For: Audit,
			Help: "where the broker's management plugin answers, if not at its usual port"},
		{Name: "max_queue_size", Kind: KindInt, Arg: "number", Default: "25000",
			Section: SectionHost, For: Audit,
			Help: "messages in a queue from which on it is told of, and deleted when the broker cannot run it"},
		{Name: "pump", Kind: KindBool, Default: "off",
			Section: SectionHost, For: Audit,
			Help: "print how the broker is and what does not agree with the configuration, and exit"},
		{Name: "report_daemons", Kind: KindBool, Default: "off",
			Section: SectionHost, For: Audit | Shovel, NoEffect: true,
			Help: "no shovels are started that carry reports to the sources they concern"},
		{Name: "sanity_log_dead", Aliases: []string{"sld"}, Kind: KindDuration, Arg: "duration", Default: "450",
			Section: SectionHost, For: pumps | Audit | Spool,
			Help: "a process which shows no sign of life for this long is started anew"},
		{Name: "set_passwords", Kind: KindBool, Default: "on",
			Section: SectionHost, For: Audit,
			Help: "give new users of the broker the passwords of credentials.conf"},
		{Name: "users", Kind: KindBool, Default: "off",
			Section: SectionHost, For: Audit,
			Help: "set up users, permissions, exchanges and queues once, and exit"},
		{Name: "vip", Kind: KindAddress, Arg: "address",
			Section: SectionHost, For: consumers | Poll | Audit,
			Help: "work only while this host has the address"},
	}
}
