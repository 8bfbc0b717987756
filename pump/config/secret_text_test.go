package config

import "testing"

// Passwords are masked wherever in a text a URL stands, and nothing else is touched.
func TestRedactText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"no URL: a:b@c":                        "no URL: a:b@c",
		`Get "http://u:p@h/a": refused`:        `Get "http://u:***@h/a": refused`,
		"amqp://u:p@w:d@h and ftp://x:y@z/p@q": "amqp://u:***@h and ftp://x:***@z/p@q",
		"http://h:80/a@b http://u@h/c":         "http://h:80/a@b http://u@h/c",
		"://:secret@":                          "://:***@",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func FuzzRedactText(f *testing.F) {
	f.Add("http://u:p@h/ x://y:z@")
	f.Fuzz(func(t *testing.T, text string) {
		if once := RedactText(text); RedactText(once) != once {
			t.Errorf("%q is masked twice", text)
		}
	})
}
