package pump

import (
	"slices"
	"strings"

	"srpump/pump/hook"
)

// seers are the hooks that would see the announcement of j, in the order they would, each with its option
// in front. What they would make of it is not known: none is run.
func (f *Flow) seers(j *job) (lines []string) {
	if f.hooks == nil {
		return nil
	}
	points := []string{hook.OnMessage}
	if f.plan.files {
		points = append(points, hook.DestFn)
		if !j.a.Sum.IsRemoval() && j.hasFile() {
			points = append(points, f.filePoints(j)...)
		}
	}
	if f.plan.posting {
		points = append(points, hook.OnPost)
	}
	return seenAt(f.hooks, points)
}

// filePoints are those at which hooks see the file of j, or move it.
func (f *Flow) filePoints(j *job) []string {
	if f.plan.there != nil {
		return f.handling(deliverPoints(), f.plan.there.Scheme, f.plan.there.Scheme == "file", j)
	}
	scheme, _, _ := strings.Cut(j.url(), ":")
	return append(f.handling(fetchPoints(), scheme, fetchesNatively(scheme), j), hook.OnData, hook.OnPart, hook.OnFile)
}

// fetchesNatively reports whether URLs of a scheme are fetched without a hook.
func fetchesNatively(scheme string) bool {
	return slices.Contains([]string{"file", "http", "https", "ftp", "ftps", "sftp"}, strings.ToLower(scheme))
}

// handling is the first point whose hooks take the place of a transport.
func (f *Flow) handling(points []string, scheme string, native bool, j *job) []string {
	for _, point := range points {
		if f.hooks.At(point).Handles(scheme, native && point != hook.DoTask, j.a) {
			return []string{point}
		}
	}
	return nil
}

func seenAt(set *hook.Set, points []string) (lines []string) {
	for _, point := range points {
		for _, line := range set.At(point).Lines() {
			lines = append(lines, point+" "+line)
		}
	}
	return lines
}
