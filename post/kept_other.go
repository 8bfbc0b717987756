//go:build !linux

package post

import (
	"io/fs"
	"os"
	"time"
)

func getAttr(*os.File, string) (string, bool) { return "", false }

func setAttr(*os.File, string, string) bool { return false }

func dropAttr(*os.File, string) bool { return false }

func changeTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
