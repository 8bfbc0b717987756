package news

import "strings"

// A param is a parameter of a query, unescaped.
type param struct {
	name, value string
	alone       bool // there is no "="
}

// parseQuery reads a query; parameters stand between "&" or ";".
func parseQuery(query string) (all []param) {
	if query == "" {
		return nil
	}
	for s := range strings.SplitSeq(strings.ReplaceAll(query, ";", "&"), "&") {
		name, value, ok := strings.Cut(strings.ReplaceAll(s, "+", " "), "=")
		all = append(all, param{unquote(name), unquote(value), !ok})
	}
	return all
}

// quoteQuery writes parameters as a form does, with "+" for a blank.
func quoteQuery(params []param) string {
	parts := make([]string, len(params))
	for i, p := range params {
		parts[i] = plus(quote(p.name, ""))
		if p.alone {
			continue
		}
		value := plus(quote(p.value, ""))
		if p.name == "" { // as in "?===3==="
			value = strings.ReplaceAll(value, "%3D", "=")
		}
		parts[i] += "=" + value
	}
	return strings.Join(parts, "&")
}

func plus(s string) string { return strings.ReplaceAll(s, "%20", "+") }

// fragmentQuery is what is left of a fragment once its path is taken away.
func fragmentQuery(fragment string) string {
	if _, query, ok := strings.Cut(fragment, "?"); ok {
		fragment = query
	}
	if !strings.Contains(fragment, "=") {
		return ""
	}
	return quoteQuery(parseQuery(fragment))
}

// removeTracking takes away the parameters that tell where a reader came from.
func (a *address) removeTracking() error {
	if !a.hasNetloc {
		return errNoHost
	}
	names := trackingNames(strings.ToLower(a.host))
	hash := false
	for _, p := range a.params {
		if p.name == "nk" { // mcmetadata looks at each character of the first value
			hash = strings.ContainsAny(p.value, "0123456789abcdefABCDEF")
			break
		}
	}
	kept := a.params[:0]
	for _, p := range a.params {
		if !names[p.name] && !(hash && p.name == "nk") && !hasAnyPrefix(p.name, "_", "ga_", "utm_") {
			kept = append(kept, p)
		}
	}
	a.params = kept
	return nil
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// trackingNames are the parameters to be taken away. sortPHPSESSID is a comma that is missing in
// mcmetadata, and names with capitals never match, since the URL is in lower case: ids must agree.
func trackingNames(host string) map[string]bool {
	names := "fb_action_ids fb_action_types fb_source fb_ref action_object_map action_type_map action_ref_map fsrc_fb_noscript " +
		"yclid _openstat sortPHPSESSID PHPSESSIONID cid s_cid sid ncid ir ref oref eref ns_mchannel ns_campaign ITO wprss " +
		"custom_click source feedName feedType skipmobile skip_mobile altcast_code"
	for _, of := range [][2]string{
		{"facebook.com", "ref fref hc_location"},
		{"nytimes.com", "emc partner _r hp inline smid WT.z_sma bicmp bicmlukp bicmst bicmet abt abg"},
		{"livejournal.com", "thread nojs"},
		{"google.", "gws_rd ei"},
	} {
		if strings.Contains(host, of[0]) {
			names += " " + of[1]
		}
	}
	set := map[string]bool{"": true}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}
