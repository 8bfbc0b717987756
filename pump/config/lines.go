package config

// A Line is one option line that was read: what was said where, and in which order. Its words
// are not kept, because passwords may be among them.
type Line struct {
	File   string // as in Problem
	Line   int
	Option string // name in the table
}

func (p *parser) said(o *Option) {
	p.lineList = append(p.lineList, Line{File: p.file, Line: p.line, Option: o.Name})
}
