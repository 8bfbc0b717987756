package srpump

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A defect is one the older tools had, or an input that is made to harm, and the tests that show
// that it cannot happen here: a room and the names of tests in it, or of dialogues.
type defect struct {
	name  string
	tests []string
}

// defects are those told of the older tools, in the order of the list they come from.
func defects() []defect {
	return []defect{
		{"a message nobody understands wedges a consumer", []string{"test TestPoison", "pump TestPoison"}},
		{"names with blanks cannot be fetched", []string{"test TestAwkwardNames"}},
		{"paths lead out of the directory", []string{"pump/fetch TestNothingIsWrittenOutside TestDirectorySwappedForALink", "pump TestPlacementRefuses"}},
		{"the last full block is lost", []string{"partition TestArithmetic TestCutCovers", "test TestInteropPostBlocks"}},
		{"a relative directory nests", []string{"pump TestPlacement"}},
		{"parts of one message leak into the next", []string{"test TestInteropPost TestHeadersOfEveryType"}},
		{"line feeds in names", []string{"test TestAwkwardNames", "post TestFirstLine TestExactPath"}},
		{"date stamps with exponents or of full seconds", []string{"post TestTimestamps"}},
		{"arguments taken for configurations", []string{"dialogue arguments", "pump/config TestFindConfig TestNormalizeArgs"}},
		{"a watcher loses files", []string{"post/watch TestBurstInNewDirectories TestMovedIn TestWatchLimit TestOverflow TestRescanHeals TestCoalesced", "test TestChurn"}},
		{"post_base_dir is cut out of the middle of a path", []string{"post TestMaker", "test TestInteropPostLocal"}},
		{"retry_ttl in other units; retries only when idle; what failed is taken for known", []string{"pump/config TestParseDuration TestValuesOfV02", "pump TestRetry", "pump/retry TestGivenUp", "winnow TestFasterSourceFails"}},
		{"files seen half, or kept with wrong bytes", []string{"pump/fetch TestFailuresOfTheSourceLeaveNothing TestTemporaryNameTakenByAnotherFile TestKill", "pump TestSumMismatch", "test TestKillSubscribe"}},
		{"the cache grows without end, and stalls", []string{"winnow TestSegmentsEndAndExpire TestSweep TestCompact TestConcurrent"}},
		{"rotation doubles or loses logs", []string{"pump/daemon TestRotation TestReopen TestRotationAfterRestart", "test TestDaemonLogRotates"}},
		{"crash loops, stale process numbers, starts at once", []string{"test TestUnreadableSource TestPermissionDenied TestStalePid TestStartAtOnce TestStartAfterKill", "pump/daemon TestForgetInBetween TestNoSignalForAStranger", "pump TestQueueNameRace"}},
		{"a manager of many configurations is slow", []string{"test TestHostOfThirty TestActionsConnectOnce"}},
		{"dates of a polled listing are refused, or post all of it each year", []string{"pump/poll TestLine", "pump TestPollAnnouncement TestPollCache"}},
		{"long headers and topics are dropped in silence", []string{"post TestEncodeStrictly TestSizes TestTopics"}},
		{"passwords in logs and lists of processes", []string{"cmd/internal/cli TestNoSecretInLog", "pump/config TestCredentialsAreNeverPrinted TestRedactText", "test TestCredentialsStayHome"}},
		{"text of a configuration or an answer is run", []string{"pump/config TestSubstitution", "pump/hook TestCmdTakesNamesAsTheyAre", "pump/manage TestBroker"}},
		{"one round trip to the broker for each message", []string{"pump/broker/amqp TestContract", "test/bench TestRows"}},
		{"patterns and orders of options that do not what they seem to", []string{"dialogue check", "pump TestCovered TestCheckAgreesWithStart TestMatchingLine"}},
		{"shares of a winnow are unfair", []string{"pump TestSpread TestExchangeSplit TestSplitChanges", "test TestExchangeSplit"}},
		{"nothing counts", []string{"dialogue sr", "pump/daemon TestHung"}},
		{"cleanup removes what it should not", []string{"pump TestCleanup", "pump/audit TestDeletions TestTooMany", "dialogue topology"}},
		{"each instance has a cache of its own", []string{"winnow TestConcurrent TestTwoProcesses", "pump TestHostWorkers"}},
	}
}

// badInput is what somebody may send or call a file to do harm.
func badInput() []defect {
	return []defect{
		{"messages of every version on one queue", []string{"pump TestEveryVersionOnOneQueue"}},
		{"v03 with missing, null and unknown fields", []string{"post TestV03Malformed TestV03Read"}},
		{"links to the outside, and in circles", []string{"pump/fetch TestLinksAndRemovals TestFinalAndTemporaryLinksAreReplacedNotFollowed", "post/watch TestWalkEnds", "test TestSymlinkThenFile"}},
		{"a rename into itself, a removal of the root", []string{"pump TestMoves", "pump/fetch TestNothingIsWrittenOutside"}},
		{"hooks about names that look like options, commands or lines", []string{"pump/hook TestExecShowsAndTakesNames TestCmdTakesNamesAsTheyAre"}},
		{"names that forge a line of a log", []string{"cmd/internal/cli TestNoForgedLogLine", "test TestAwkwardNames", "pump/retry TestLogWords"}},
		{"orders about retries, killed at any point", []string{"test TestKillRetryOrders"}},
		{"the vectors measured of the older cache", []string{"winnow TestVectors"}},
	}
}

func TestDefects(t *testing.T) {
	if n := len(defects()); n != 27 {
		t.Errorf("%d of 27 defects", n)
	}
	for _, d := range append(defects(), badInput()...) {
		for _, of := range d.tests {
			words := strings.Fields(of)
			for _, name := range words[1:] {
				if !tried(t, words[0], name) {
					t.Errorf("%s: nothing in %s is called %s", d.name, words[0], name)
				}
			}
		}
	}
}

// tried reports whether a room has a test of that name, or there is a dialogue of it.
func tried(t *testing.T, room, name string) bool {
	if room == "dialogue" {
		_, err := os.Stat(filepath.Join("cmd/internal/cli/testdata/script", name+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(room, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	is := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if is.Match(text) {
			return true
		}
	}
	return false
}
