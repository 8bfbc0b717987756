package export

import (
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"
	"golang.org/x/net/html"

	"srpump/pipeline/sfm/items"
)

// A document is an item while its row is made.
type document struct {
	item *items.Item
	root *fastjson.Value
}

// A getter is what a column has of a document.
type getter func(*document) cell

// at is the value at a path of members, such as "owner.nsid", or at the first of several that
// has one.
func at(paths ...string) getter {
	var split [][]string
	for _, p := range paths {
		split = append(split, strings.Split(p, "."))
	}
	return func(d *document) cell {
		for _, p := range split {
			if c := cellOf(d.root.Get(p...)); c.sort != nothing {
				return c
			}
		}
		return cell{}
	}
}

// either is the first getter that has something.
func either(all ...getter) getter {
	return func(d *document) cell {
		for _, g := range all {
			if c := g(d); c.sort != nothing {
				return c
			}
		}
		return cell{}
	}
}

// list is the values in an array, or those at a path in its objects, behind each other. Of
// several arrays it is the first that has some.
func list(between, inside string, arrays ...string) getter {
	member := strings.FieldsFunc(inside, func(c rune) bool { return c == '.' })
	return func(d *document) cell {
		var all []string
		for _, path := range arrays {
			for _, v := range arrayAt(d.root, path) {
				if c := cellOf(v.Get(member...)); c.text != "" {
					all = append(all, c.text)
				}
			}
			if all != nil {
				break
			}
		}
		return textCell(strings.Join(all, between))
	}
}

// arrayAt is the array at a path, or nil.
func arrayAt(v *fastjson.Value, path string) []*fastjson.Value {
	if v = v.Get(strings.Split(path, ".")...); v == nil {
		return nil
	}
	all, _ := v.Array() // what is none has no elements
	return all
}

// stringAt is the text at a path, or "".
func stringAt(v *fastjson.Value, path string) string {
	return string(v.GetStringBytes(strings.Split(path, ".")...))
}

// itemID, itemOwner and itemDate are what the reader of the item has found.
func itemID(d *document) cell    { return textCell(d.item.ID) }
func itemOwner(d *document) cell { return textCell(d.item.Owner) }
func itemDate(d *document) cell  { return textCell(isoTime(d.item.Date)) }

// isoTime is RFC 3339 in UTC; "" of the zero time.
func isoTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// plainText is the text of HTML at a path, with a line end where a block or a break ends.
func plainText(paths ...string) getter {
	get := at(paths...)
	return func(d *document) cell {
		c := get(d)
		c.text = textOf(c.text)
		return textCell(c.text)
	}
}

func textOf(source string) string {
	if !strings.ContainsAny(source, "<&") {
		return source
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken: // of a string it is the end
			return strings.TrimSpace(b.String())
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			if name, _ := z.TagName(); slices.Contains([]string{"p", "br", "div", "li", "blockquote"}, string(name)) && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
		}
	}
}
