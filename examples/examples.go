// Package examples holds the configurations that the action add copies: one directory for each
// component, as they stand in the source.
package examples

import "embed"

// Files are <component>/<name>.conf.
//
//go:embed post/*.conf watch/*.conf poll/*.conf winnow/*.conf shovel/*.conf sarra/*.conf subscribe/*.conf sender/*.conf report/*.conf spool/*.conf
var Files embed.FS
