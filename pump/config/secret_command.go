package config

import "strings"

// RedactCommand masks what is secret in a command: the passwords of URLs, and the values behind names that say so,
// as in --password x, --token=x and PASSWORD=x.
func RedactCommand(text string) string {
	var b strings.Builder
	next := false // the word is the value of the one before
	for text != "" {
		n := len(text) - len(strings.TrimLeft(text, " \t"))
		b.WriteString(text[:n])
		text = text[n:]
		word := text[:valueEnd(text, next)]
		name, assigns := assigned(word)
		switch {
		case next:
			b.WriteString(masked(word))
		case assigns:
			value := text[len(name)+1:]
			value = value[:valueEnd(value, true)]
			word = text[:len(name)+1+len(value)]
			b.WriteString(name + "=" + masked(value))
		default:
			b.WriteString(RedactText(Redact(word)))
		}
		next = !next && namesSecret(word) && strings.HasPrefix(strings.TrimLeft(word, `'"`), "-")
		text = text[len(word):]
	}
	return b.String()
}

// assigned is what is before the first = in a word behind which there is a secret.
func assigned(word string) (name string, is bool) {
	for i := range len(word) {
		if word[i] == '=' && namesSecret(word[:i]) {
			return word[:i], true
		}
	}
	return "", false
}

// valueEnd is where a word ends: at a blank, or what is quoted, at the end of that.
func valueEnd(text string, quoted bool) int {
	if quoted && text != "" && strings.ContainsRune(`'"`, rune(text[0])) {
		if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
			return end + 2 + valueEnd(text[end+2:], false)
		}
	}
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return end
	}
	return len(text)
}

// masked is a value nobody reads; a quote that was opened before it stays closed.
func masked(value string) string {
	if value == "" {
		return ""
	}
	last := value[len(value)-1:]
	if strings.Contains(`'"`, last) && value[:1] != last {
		return mask + last
	}
	return mask
}

// namesSecret reports whether what is called so is no one else's business. What only names a file is.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	for _, place := range []string{"file", "dir", "path", "env", "fd"} {
		if strings.HasSuffix(name, place) {
			return false
		}
	}
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "token", "api-key", "api_key", "apikey"} {
		if strings.HasSuffix(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "--pass")
}
