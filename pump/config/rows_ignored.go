package config

// ignoredRows are options v02 accepts and nothing here acts on, so that its
// configurations can be read as they are. The help says why.
func ignoredRows() []Option {
	rows := []Option{
		{Name: "bufsize", Kind: KindSize, Arg: "size", Default: "1M", For: pumps,
			Help: "buffers have the size that suits the transfer"},
		{Name: "cache_stat", Kind: KindBool, Default: "off", For: pumps,
			Help: "the counts of the winnowing cache are always logged"},
		{Name: "cluster_aliases", Aliases: []string{"ca"}, Kind: KindList, Arg: "cluster,...", Sep: ",", Multi: true, For: pumps,
			Help: "nothing asks for other names of a cluster"},
		{Name: "gateway_for", Aliases: []string{"gf"}, Kind: KindList, Arg: "cluster,...", Sep: ",", Multi: true, For: pumps,
			Help: "nothing asks which clusters are served"},
		{Name: "hostname", Kind: KindString, Arg: "name", For: pumps,
			Help: "the name of the host is asked of the system"},
		{Name: "interface", Kind: KindString, Arg: "name", For: pumps,
			Help: "vip is looked for on all interfaces"},
		{Name: "move", Kind: KindList, Arg: "old new", For: Post,
			Help: "v02 reads it and does nothing either; sr_watch announces moves"},
		{Name: "reconnect", Aliases: []string{"rr"}, Kind: KindBool, Default: "off", For: posters,
			Help: "a connection is made anew when it is lost, not between blocks"},
		{Name: "remote_config_url", Kind: KindString, Arg: "url", For: pumps,
			Help: "configurations are not fetched; do so with a command of your choice"},
		{Name: "use_amqplib", Kind: KindBool, Default: "off", For: pumps,
			Help: "there is one way to speak to brokers"},
		{Name: "use_pika", Kind: KindBool, Default: "off", For: pumps,
			Help: "there is one way to speak to brokers"},
		{Name: "windows_run", Kind: KindString, Arg: "way", For: pumps,
			Help: "how v02 starts processes on another system"},
	}
	for i := range rows {
		rows[i].Section, rows[i].NoEffect = SectionIgnored, true
	}
	return rows
}
