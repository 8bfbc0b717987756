package sqlite

func runChild() bool { return false }
