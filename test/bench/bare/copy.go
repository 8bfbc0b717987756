package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// copyWindow is how many files the filter asks for at a time.
const copyWindow = 64

// copyAll copies each file it is given to dir.
func copyAll(dir string) error {
	fmt.Printf("{\"version\":1,\"window\":%d}\n", copyWindow)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var given struct {
			ID   int64
			Path string
		}
		if err := json.Unmarshal(in.Bytes(), &given); err != nil {
			return err
		}
		name := filepath.Base(given.Path)
		if err := copyFile(given.Path, filepath.Join(dir, name)); err != nil {
			return err
		}
		fmt.Printf("{\"out\":%q,\"for\":%d}\n{\"ok\":%d}\n", name, given.ID, given.ID)
	}
	return in.Err()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
