package items

// twitter2Formats are those of version 2 of the API.
func twitter2Formats() []format { return nil }
