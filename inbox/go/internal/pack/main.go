// Pack writes this module as a release, in the form that GOPROXY=file://FOLDER serves:
//
//	go run ./internal/pack v0.1.0 build/release
package main

import (
	"archive/zip"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const module = "github.com/onceward/onceward/inbox/go"

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: pack VERSION FOLDER")
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func pack(version, folder string) error {
	to := filepath.Join(folder, module, "@v")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	// Without a time of its own each build of the same files is the same.
	info := `{"Version":"` + version + `","Time":"` + time.Unix(0, 0).UTC().Format(time.RFC3339) + `"}`
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"list": version + "\n", version + ".info": info,
		version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	add := func(path, name string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		entry, err := archive.Create(module + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		_, err = entry.Write(text)
		return err
	}
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"build", ".git"}, path) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		return add(path, filepath.ToSlash(path))
	})
	// The licence is the repository's. A module in a folder of it gets a copy, as Go does.
	if err == nil {
		if err = add("../../LICENSE", "LICENSE"); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, archive.Close())
}
