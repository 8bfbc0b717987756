package platform

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The example of "Creating a signature" in the documents of Twitter 1.1.
func TestOAuth1(t *testing.T) {
	r, err := http.NewRequest("POST", "https://api.twitter.com/1.1/statuses/update.json?include_entities=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	o := oauth1{"xvz1evFS4wEEPTGEFPHBog", "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
		"370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"}
	form := url.Values{"status": {"Hello Ladies + Gentlemen, a signed OAuth request!"}}
	o.signWith(r, form, "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", 1318622958)
	if got := r.Header.Get("Authorization"); !strings.Contains(got, `oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D"`) {
		t.Error(got)
	}
}
