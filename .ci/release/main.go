// Command release builds a release: an archive for each platform, Debian and RPM
// packages, a container image as an OCI archive, a list of the modules in each
// program, checksums, and a signature of the checksums. The same files and the
// same Go give the same bytes, on any machine and in any folder. The command is a
// separate module, so that govsvc does not depend on the packaging libraries.
//
//	go -C .ci/release run .                  the version that git describes
//	go -C .ci/release run . --version v1.2.3 --commit 0123abcd --time 1789171200 --out dist --sign-key ~/.ssh/release
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// platforms are the supported platforms.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// release has the settings and the results of a build.
type release struct {
	version, commit string
	made            time.Time // the time of the commit, used for all files
	out             string
	signKey         string
	scratch         string
	programs        map[string]string // paths by platform
}

func main() {
	r := release{programs: map[string]string{}}
	var seconds int64
	flag.StringVar(&r.version, "version", "", "the version; default: the output of git describe")
	flag.StringVar(&r.commit, "commit", "", "the commit; default: HEAD")
	flag.Int64Var(&seconds, "time", 0, "the time of the commit, in seconds since 1970; default: from git")
	flag.StringVar(&r.out, "out", "dist", "the folder for the release, relative to the top of the repository; it must be empty or missing")
	flag.StringVar(&r.signKey, "sign-key", "", "an OpenSSH private key that signs SHA256SUMS; default: no signature")
	flag.Parse()
	if err := r.run(seconds); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(seconds int64) error {
	if err := enterRepository(); err != nil {
		return err
	}
	if err := r.describe(seconds); err != nil {
		return err
	}
	if found, err := os.ReadDir(r.out); err == nil && len(found) > 0 {
		return fmt.Errorf("%s is not empty: remove its files, or name another folder with --out", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var err error
	if r.scratch, err = os.MkdirTemp("", "govsvc-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.scratch)
	shared, err := r.shared()
	if err != nil {
		return err
	}
	if err := r.pack(shared); err != nil {
		return err
	}
	if err := r.sums(); err != nil {
		return err
	}
	return r.sign()
}

// pack writes all archives, packages and images. It packs a program while the next
// ones are built: the link and the compression of one program use one processor.
func (r *release) pack(shared map[string][]byte) error {
	var packing errgroup.Group
	packing.SetLimit(runtime.GOMAXPROCS(0))
	failed := func(what string, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	for _, platform := range platforms {
		program, err := r.build(platform)
		if err != nil {
			return errors.Join(failed(platform, err), packing.Wait())
		}
		packing.Go(func() error { return failed(platform, r.archive(platform, program, shared)) })
		system, processor, _ := strings.Cut(platform, "/")
		if system != "linux" || !slices.Contains(packaged, processor) {
			continue
		}
		packing.Go(func() error { return failed("packages for "+processor, r.packages(processor, program, shared)) })
	}
	packing.Go(func() error { return failed("image", r.image(shared)) })
	return packing.Wait()
}

// enterRepository changes the working directory to the top of the repository.
func enterRepository() error {
	for range 5 {
		text, err := os.ReadFile("go.mod")
		if err == nil && bytes.HasPrefix(text, []byte("module govsvc\n")) {
			return nil
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
	}
	return errors.New("the working directory is not in the repository")
}

// signedAs is the namespace of the signature, which makes it invalid for other uses.
const signedAs = "govsvc-release"

// sign signs the checksums with ssh-keygen, which writes SHA256SUMS.sig.
func (r *release) sign() error {
	if r.signKey == "" {
		return nil
	}
	_, err := output("ssh-keygen", "-Y", "sign", "-n", signedAs, "-f", r.signKey, filepath.Join(r.out, "SHA256SUMS"))
	return err
}

// write writes a file of the release.
func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), text, 0o644)
}

// validVersion matches a version or a commit that can be part of a file name.
var validVersion = regexp.MustCompile(`^v?[0-9A-Za-z][0-9A-Za-z.+-]*$`)

// describe reads the settings that were not given from git. It adds "+changes" if the
// working tree has uncommitted changes.
func (r *release) describe(seconds int64) error {
	var err error
	if r.version == "" {
		if r.version, err = output("git", "describe", "--tags", "--always", "--dirty=+changes"); err != nil {
			return err
		}
	}
	if r.commit == "" {
		if r.commit, err = output("git", "rev-parse", "HEAD"); err != nil {
			return err
		}
		if changed, err := output("git", "status", "--porcelain"); err != nil || changed != "" {
			r.commit += "+changes"
		}
	}
	if seconds == 0 {
		text, err := output("git", "log", "-1", "--format=%ct")
		if err != nil {
			return err
		}
		if seconds, err = strconv.ParseInt(text, 10, 64); err != nil {
			return err
		}
	}
	r.made = time.Unix(seconds, 0).UTC()
	for _, name := range []string{r.version, r.commit} {
		if !validVersion.MatchString(name) {
			return fmt.Errorf("%q is not a version or a commit: letters, digits, dots, + and -", name)
		}
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// build builds the program for a platform once and returns its path. It sets every
// environment variable that could change the bytes.
func (r *release) build(platform string) (string, error) {
	if path, built := r.programs[platform]; built {
		return path, nil
	}
	system, processor, _ := strings.Cut(platform, "/")
	path := filepath.Join(r.scratch, system+"-"+processor, "govsvc")
	if system == "windows" {
		path += ".exe"
	}
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -buildid= -X govsvc/cmd.version="+r.version+" -X govsvc/cmd.commit="+r.commit, "-o", path, ".")
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return "", err
	}
	r.programs[platform] = path
	return path, nil
}

// shared returns the files that all archives have, by their path in the archive.
func (r *release) shared() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, pattern := range []string{"README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", "doc/*.md", "doc/decisions/*.md", "doc/*.png", "doc/deploy/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if files[filepath.ToSlash(path)], err = os.ReadFile(path); err != nil {
				return nil, err
			}
		}
	}
	program, err := r.build(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	manual := filepath.Join(r.scratch, "man")
	if _, err := output(program, "man", manual); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(manual)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if files["man/man1/"+page.Name()], err = os.ReadFile(filepath.Join(manual, page.Name())); err != nil {
			return nil, err
		}
	}
	for shell, name := range map[string]string{"bash": "govsvc.bash", "zsh": "_govsvc", "fish": "govsvc.fish", "powershell": "govsvc.ps1"} {
		text, err := output(program, "completion", shell)
		if err != nil {
			return nil, err
		}
		files["completions/"+name] = []byte(text + "\n")
	}
	licenses, err := output(program, "version", "--licenses")
	files["LICENSES.txt"] = []byte(licenses + "\n")
	return files, err
}

// archive writes the archive of a platform, and the list of the modules in its
// program.
func (r *release) archive(platform, program string, shared map[string][]byte) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	name := "govsvc_" + r.version + "_" + strings.ReplaceAll(platform, "/", "_")
	files := []entry{{filepath.Base(program), text, 0o755}}
	for path, text := range shared {
		files = append(files, entry{path, text, 0o644})
	}
	slices.SortFunc(files, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	packer, ending := tarGz, ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		packer, ending = zipArchive, ".zip"
	}
	packed, err := packer(name, files, r.made)
	if err != nil {
		return err
	}
	modules, err := billOfMaterials(program, r.version)
	if err != nil {
		return err
	}
	if err := r.write(name+".cdx.json", modules); err != nil {
		return err
	}
	return r.write(name+ending, packed)
}

// sums writes SHA256SUMS, which sha256sum --check can read, and prints the name and
// the size of each file.
func (r *release) sums() error {
	made, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, file := range made {
		text, err := os.ReadFile(filepath.Join(r.out, file.Name()))
		if err != nil {
			return err
		}
		fmt.Printf("%s %.1f MB\n", file.Name(), float64(len(text))/(1<<20))
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), file.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), 0o644)
}
