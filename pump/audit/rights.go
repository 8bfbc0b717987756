package audit

import (
	"regexp"

	"srpump/pump/manage"
)

// Rights are the permissions of an account: of a source, to make and write what carries its name and to
// read its own and what is public; of a subscriber, only its queues and its exchange.
func (a Account) Rights() manage.Permission {
	u := regexp.QuoteMeta(a.Name)
	own, read := `^q_`+u+`.*`, `^q_`+u+`.*|^x[lrs]_`+u+`.*|^x.*public$`
	switch a.Role {
	case Admin, Feeder:
		return manage.Permission{User: a.Name, Configure: ".*", Write: ".*", Read: ".*"}
	case Source:
		both := own + `|^xs_` + u + `.*`
		return manage.Permission{User: a.Name, Configure: both, Write: both, Read: read}
	}
	return manage.Permission{User: a.Name, Configure: own, Write: own + `|^xs_` + u + `$`, Read: read}
}

// ownExchanges are those every pump has.
func ownExchanges() []string { return []string{"xlog", "xpublic", "xreport", "xwinnow"} }

// WantedExchanges are all that should be there: the pump's own, the declared ones, and three for each source
// and subscriber: what it posts, its reports, its logs.
func (r *Roster) WantedExchanges() []string {
	out := append(ownExchanges(), r.Exchanges...)
	for _, a := range r.Accounts {
		if a.Role == Source || a.Role == Subscriber {
			out = append(out, "xs_"+a.Name, "xr_"+a.Name, "xl_"+a.Name)
		}
	}
	return out
}
