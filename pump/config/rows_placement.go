package config

func selectRows() []Option {
	return []Option{
		{Name: "accept", Aliases: []string{"get", "acc"}, Kind: KindRule, Arg: "pattern", Multi: true, Late: true,
			Section: SectionSelect, For: pumps,
			Help: "take what matches, under the placement options above; a second word renames"},
		{Name: "accept_unmatch", Aliases: []string{"accept_unmatched", "au"}, Kind: KindBool, Default: "off",
			Per: []Override{{Post | Watch | Sarra | Winnow | Shovel | Report, "on"}, {Sender, "off"}}, Fixed: true,
			Section: SectionSelect, For: pumps,
			Help: "take what no rule matches; without any rule everything is taken"},
		{Name: "realpath_filter", Aliases: []string{"fr"}, Kind: KindBool, Default: "off",
			Section: SectionSelect, For: Post | Watch,
			Help: "ask the rules about the path with all symbolic links in it resolved"},
		{Name: "reject", Aliases: []string{"rej"}, Kind: KindRule, Arg: "pattern", Multi: true,
			Section: SectionSelect, For: pumps,
			Help: "leave what matches"},
		{Name: "subtopic", Aliases: []string{"sub"}, Kind: KindSubtopic, Arg: "words", Multi: true,
			Section: SectionSelect, For: pumps | Spool,
			Help: "bind the exchange above to these topics, # for all; posters: the topic itself; none binds nothing"},
	}
}

func placementRows() []Option {
	return []Option{
		{Name: "base_dir", Aliases: []string{"bd", "document_root", "dr"}, Kind: KindString, Arg: "directory",
			Section: SectionPlacement, For: fetchers,
			Help: "directory below which announced file: paths must lie"},
		{Name: "chmod", Aliases: []string{"default_mode", "dm"}, Kind: KindOctal, Arg: "octal", Default: "0",
			Per:     []Override{{Poll, "0400"}},
			Section: SectionPlacement, For: fetchers | Poll,
			Help: "permissions of files that bring none; 0 leaves it to the umask"},
		{Name: "chmod_dir", Aliases: []string{"default_dir_mode", "ddm"}, Kind: KindOctal, Arg: "octal", Default: "0775",
			Section: SectionPlacement, For: fetchers,
			Help: "permissions of new directories"},
		{Name: "directory", Kind: KindString, Arg: "directory", Late: true,
			Per: []Override{{Sarra, ""}}, Fixed: true,
			Section: SectionPlacement, For: fetchers | Poll | Serve | Spool,
			Help: "where the rules below place files; where the command was started by default"},
		{Name: "filename", Kind: KindString, Arg: "keyword", Late: true,
			Section: SectionPlacement, For: fetchers | Poll,
			Help: "how the rules below name files: WHATFN, HEADFN, SENDER, NONE, TIME, DESTFN=name"},
		{Name: "flatten", Kind: KindString, Arg: "string", Default: "/",
			Section: SectionPlacement, For: fetchers,
			Help: "put directories into the name, joined with this"},
		{Name: "mirror", Kind: KindBool, Default: "off",
			Per: []Override{{Sarra | Sender, "on"}}, Fixed: true,
			Section: SectionPlacement, For: fetchers,
			Help: "keep the announced directories"},
		{Name: "overwrite", Aliases: []string{"o"}, Kind: KindBool, Default: "off",
			Section: SectionPlacement, For: fetchers,
			Help: "fetch even what seems to be here already"},
		{Name: "strip", Kind: KindString, Arg: "number|pattern", Default: "0",
			Section: SectionPlacement, For: fetchers | posters,
			Help: "remove so many leading directories, or what the pattern matches first"},
	}
}
