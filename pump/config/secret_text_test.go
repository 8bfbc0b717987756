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

// sr_hooks(7): a secret in a command is shown to nobody who reads a configuration.
func TestRedactCommand(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"exec:cat  -u":                           "exec:cat  -u",
		"cmd:put http://u:p@h/ ${file}":          "cmd:put http://u:***@h/ ${file}",
		"cmd:put --url='http://u:p@h/x'":         "cmd:put --url='http://u:***@h/x'",
		"cmd:put http://u:p/w@h/":                "cmd:put http://u:***@h/",
		"cmd:put --password x y":                 "cmd:put --password *** y",
		"cmd:put --password  'x y' z":            "cmd:put --password  *** z",
		"cmd:put --db-password=\"x y\" z":        "cmd:put --db-password=*** z",
		"cmd:put --password-file x":              "cmd:put --password-file x",
		"exec:env API_TOKEN=x run":               "exec:env API_TOKEN=*** run",
		"cmd:sh -c 'put --token x' more":         "cmd:sh -c 'put --token ***' more",
		"cmd:sh -c 'PASSWORD=x put'":             "cmd:sh -c 'PASSWORD=*** put'",
		"cmd:curl http://h/?user=me&token=x":     "cmd:curl http://h/?user=me&token=***",
		`exec:env A_TOKEN=""x run`:               "exec:env A_TOKEN=*** run",
		"cmd:put --token=a=b= z":                 "cmd:put --token=*** z",
		"cmd:put --password":                     "cmd:put --password",
		"a token is not a secret, nor passwords": "a token is not a secret, nor passwords",
	} {
		if got := RedactCommand(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}
