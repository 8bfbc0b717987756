package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parsed is the meaning of the words behind an option.
type parsed struct {
	value any    // bool, int, int64, time.Duration, uint32, string or []string
	text  string // as it could be written in a file
	doubt string // why the value may not be what was meant, if so
}

// parse gives the words behind an option their meaning. No word at all is on
// for a boolean and Option.Bare for what has one.
func (o *Option) parse(words []string) (parsed, error) {
	if o.Kind == KindList {
		return o.parseList(words)
	}
	if len(words) == 0 {
		if words = o.bareWords(); words == nil {
			return parsed{}, errors.New("needs a value")
		}
	}
	if o.Kind == KindCommand {
		return parseCommand(words), nil
	}
	p, err := o.parseWord(words[0])
	if err == nil && len(words) > 1 {
		p.doubt = fmt.Sprintf("takes one word, so %q and what follows is ignored", words[1])
	}
	return p, err
}

// parseCommand keeps the words of a command together; who runs it cuts them at its quotes.
func parseCommand(words []string) parsed {
	p := parsed{text: strings.Join(words, " ")}
	p.value = p.text
	if strings.EqualFold(p.text, "none") {
		p.value = ""
	}
	return p
}

func (o *Option) bareWords() []string {
	switch {
	case o.Kind == KindBool:
		return []string{"on"}
	case o.Bare != "":
		return []string{o.Bare}
	}
	return nil
}

func (o *Option) parseWord(word string) (p parsed, err error) {
	p.text = word
	switch o.Kind {
	case KindBool:
		p.value, p.doubt = parseBool(word)
	case KindInt:
		p.value, err = parseInt(word, o.Min)
	case KindSize:
		p.value, err = ParseSize(word)
	case KindDuration:
		p, err = o.parseDuration(word)
	case KindOctal:
		p.value, err = parseOctal(word)
	case KindChoice:
		p.value, err = o.choose(word)
	case KindURL:
		p.value, err = word, checkURL(word)
	case KindAddress:
		p.value, err = parseIP(word)
	default:
		p.value = word
	}
	return p, err
}

// parseBool takes what v02 takes: true yes on 1 in any case is true and all
// else is false; what is not a usual word for false raises a doubt.
func parseBool(word string) (value bool, doubt string) {
	switch strings.ToLower(word) {
	case "true", "yes", "on", "1":
		return true, ""
	case "false", "no", "off", "0", "none":
		return false, ""
	}
	return false, fmt.Sprintf("takes on or off, so %q is taken for off", word)
}

func parseInt(word string, least int) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", word)
	}
	if n < least {
		return 0, fmt.Errorf("%q is less than %d", word, least)
	}
	return n, nil
}

// ParseSize reads N[B|K|M|G|T], powers of 1024 in any case, where a B may
// follow the others as well: 50M, 10kB.
func ParseSize(word string) (int64, error) {
	digits := strings.TrimRight(word, "bBkKmMgGtT")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' {
		return 0, fmt.Errorf("%q is not a size such as 4096, 10K or 50M", word)
	}
	shift := 0
	switch strings.TrimSuffix(strings.ToLower(word[len(digits):]), "b") {
	case "":
	case "k":
		shift = 10
	case "m":
		shift = 20
	case "g":
		shift = 30
	case "t":
		shift = 40
	default:
		return 0, fmt.Errorf("%q is not a size such as 4096, 10K or 50M", word)
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is too large", word)
	}
	return n << shift, nil
}

func (o *Option) parseDuration(word string) (parsed, error) {
	switch strings.ToLower(word) {
	case "none", "off", "no", "false":
		return parsed{value: time.Duration(0), text: word}, nil
	case "on", "yes", "true":
		if o.Bare == "" {
			return parsed{}, fmt.Errorf("%q is not a duration such as 30, 1.5h or 2w", word)
		}
		word = o.Bare
	}
	number := word
	if o.Unit != "" && strings.Trim(word, "0123456789.") == "" {
		number += o.Unit
	}
	d, err := parseDuration(number)
	p := parsed{value: d, text: word}
	if err == nil && d > 0 && o.Low != "" {
		if low, _ := parseDuration(o.Low); d < low {
			p.doubt = fmt.Sprintf("is only %s: announcements may be lost while nobody reads", d)
		}
	}
	return p, err
}

// parseDuration reads a number, with a fraction if need be, and a unit s m h d
// w in either case; seconds without one.
func parseDuration(word string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as 30, 1.5h or 2w", word)
	number, unit := word, float64(time.Second)
	if word == "" {
		return 0, bad
	}
	if scale, ok := durationUnit(word[len(word)-1]); ok {
		number, unit = word[:len(word)-1], float64(scale)
	}
	if strings.Trim(number, "0123456789.") != "" {
		return 0, bad
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, bad
	}
	if f *= unit; f >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too long", word)
	}
	return time.Duration(math.Round(f)), nil
}

func durationUnit(c byte) (time.Duration, bool) {
	switch c | 0x20 {
	case 's':
		return time.Second, true
	case 'm':
		return time.Minute, true
	case 'h':
		return time.Hour, true
	case 'd':
		return 24 * time.Hour, true
	case 'w':
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

func parseOctal(word string) (uint32, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(word, "0o"), 8, 32)
	if err != nil || n > 0o7777 {
		return 0, fmt.Errorf("%q is not an octal mode such as 0644", word)
	}
	return uint32(n), nil
}

// choose returns the first spelling of the choice that word is one of.
func (o *Option) choose(word string) (string, error) {
	firsts := make([]string, len(o.Choices))
	for i, c := range o.Choices {
		spellings := strings.Split(c, "|")
		if slices.Contains(spellings, strings.ToLower(word)) {
			return spellings[0], nil
		}
		firsts[i] = spellings[0]
	}
	return "", fmt.Errorf("%q is none of %s", word, strings.Join(firsts, ", "))
}

// parseList cuts each word at the separators. A lone "none" is the empty list.
func (o *Option) parseList(words []string) (parsed, error) {
	if len(words) == 0 {
		return parsed{}, errors.New("needs a value")
	}
	p := parsed{text: strings.Join(words, " ")}
	items := []string{}
	if o.namesHooks() && len(words) > 0 && !strings.EqualFold(p.text, "none") {
		p.value = []string{p.text}
		return p, nil
	}
	if len(words) > 1 || !strings.EqualFold(words[0], "none") {
		for _, w := range words {
			items = append(items, strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(o.Sep, r) })...)
		}
	}
	for i := range items {
		if o.Choices == nil {
			break
		}
		item, err := o.choose(items[i])
		if err != nil {
			return parsed{}, err
		}
		items[i] = item
	}
	if len(items) == 0 && !strings.EqualFold(p.text, "none") {
		return parsed{}, errors.New("needs a value")
	}
	p.value = items
	return p, nil
}

// checkURL wants a scheme, and // behind those that lead to a host, or - for a pipe. Its errors never quote the URL,
// because what does not parse may hold a password anywhere.
func checkURL(word string) error {
	if word == "-" {
		return nil
	}
	u, err := url.Parse(word)
	switch {
	case badPort(word):
		return errPort
	case err != nil:
		return errors.New("is not a URL: special characters in a user or password are written %XX")
	case u.Scheme == "":
		return errors.New("is not a URL: it has no scheme such as amqp or https")
	case u.Scheme != "file" && u.Scheme != "sqlite" && !strings.HasPrefix(word[len(u.Scheme):], "://"):
		return fmt.Errorf("names no host: write %s:// and the host", u.Scheme)
	}
	return nil
}

// errPort is a URL that leads to no port.
var errPort = errors.New("names no port: what follows the host and a colon is a number from 1 to 65535")

// badPort reports whether a URL has a port that is none. Where an @ comes later the password may not be
// written as it should, and what looks like a port be a part of it.
func badPort(word string) bool {
	_, rest, _ := strings.Cut(word, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if strings.Contains(rest[end:], "@") {
		return false
	}
	place := rest[strings.LastIndexByte(rest[:end], '@')+1 : end]
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 || strings.HasSuffix(place, "]") || colon == len(place)-1 {
		return false
	}
	n, err := strconv.ParseUint(place[colon+1:], 10, 16)
	return err != nil || n == 0
}

// parseIP takes an IP address and no name: what a name means changes.
func parseIP(word string) (string, error) {
	if strings.EqualFold(word, "none") {
		return "", nil
	}
	if _, err := netip.ParseAddr(word); err != nil {
		return "", fmt.Errorf("%q is not an IP address such as 10.0.0.7", word)
	}
	return word, nil
}
